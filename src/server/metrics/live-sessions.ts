import type { ContextId } from '../../base/brand.ts';
import { Bell } from '../../base/bell.ts';
import { leavable } from '../../base/leavable.ts';
import type { BinaryHooks, SessionFacts } from '../request/request.ts';
import type { FailedRequest } from './recent-requests.ts';

// Who is connected by the binary protocol, and the contexts that each client made. This is what cxdb calls a session.
// Everything here is bounded, because clients choose how much they do.

/** Contexts that sessions made, over all of them. The oldest ones leave first. */
const CONTEXTS_MAX = 100_000;
/** News that wait for one follower. The oldest ones are dropped: a follower can always ask how things are. */
const WAITING_MAX = 256;

export interface LiveSession {
  readonly id: string;
  /** The name that the client gives itself; empty for none. */
  readonly tag: string;
  readonly connectedAt: number;
  readonly usedAt: number;
  readonly contexts: ReadonlySet<ContextId>;
}

/** What happens to the server itself. */
export type ServerNews =
  | { readonly kind: 'session.opened' | 'session.closed'; readonly session: LiveSession }
  | { readonly kind: 'request.failed'; readonly request: FailedRequest };

type Kept = { -readonly [Name in keyof LiveSession]: LiveSession[Name] } & {
  readonly contexts: Set<ContextId>;
};

export class LiveSessions {
  readonly #sessions = new Map<bigint, Kept>();
  /** By age. */
  readonly #makers = new Map<ContextId, Kept>();
  readonly #listeners = new Set<(news: ServerNews) => void>();
  readonly #clock: () => number;
  readonly hooks: Pick<BinaryHooks, 'greeted' | 'made'> = {
    greeted: (session) => this.opened(session),
    made: (session, context) => this.made(session, context),
  };

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /** A client said who it is. The first name counts. */
  opened({ id, tag }: SessionFacts): void {
    if (this.#sessions.has(id)) return;
    const now = this.#clock();
    const session = {
      id: String(id),
      tag,
      connectedAt: now,
      usedAt: now,
      contexts: new Set<ContextId>(),
    };
    this.#sessions.set(id, session);
    this.#tell({ kind: 'session.opened', session });
  }

  used(id: bigint): void {
    const session = this.#sessions.get(id);
    if (session !== undefined) session.usedAt = this.#clock();
  }

  /** A client may make a context before it says who it is. */
  made(facts: SessionFacts, context: ContextId): void {
    this.opened(facts);
    const session = this.#sessions.get(facts.id);
    if (session === undefined) return;
    session.contexts.add(context);
    this.#makers.set(context, session);
    if (this.#makers.size <= CONTEXTS_MAX) return;
    for (const [oldest, maker] of this.#makers) {
      maker.contexts.delete(oldest);
      this.#makers.delete(oldest);
      return;
    }
  }

  closed({ id }: SessionFacts): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    for (const context of session.contexts) this.#makers.delete(context);
    this.#tell({ kind: 'session.closed', session });
  }

  list(): readonly LiveSession[] {
    return [...this.#sessions.values()];
  }

  /** The session that made a context, while it is connected. */
  makerOf(context: ContextId): LiveSession | undefined {
    return this.#makers.get(context);
  }

  failed(request: FailedRequest): void {
    this.#tell({ kind: 'request.failed', request });
  }

  /** What happens from the first read on, until the signal aborts or the reader leaves. */
  follow(given: AbortSignal): AsyncGenerator<ServerNews, void, undefined> {
    return leavable(given, (signal) => this.#follow(signal));
  }

  #tell(news: ServerNews): void {
    for (const listener of this.#listeners) listener(news);
  }

  async *#follow(signal: AbortSignal): AsyncGenerator<ServerNews, void, undefined> {
    const waiting: ServerNews[] = [];
    const bell = new Bell();
    const listener = (news: ServerNews): void => {
      if (waiting.length === WAITING_MAX) waiting.shift();
      waiting.push(news);
      bell.ring();
    };
    this.#listeners.add(listener);
    try {
      while (!signal.aborted) {
        // Aborted: the reader left.
        await bell.wait(Infinity, signal).catch(() => undefined);
        yield* waiting.splice(0);
      }
    } finally {
      this.#listeners.delete(listener);
    }
  }
}
