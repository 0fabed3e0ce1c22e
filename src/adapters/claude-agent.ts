import type { SessionKey, SessionStore, SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';
import type { ContextId, TurnId } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import { LruCache } from '../base/lru-cache.ts';
import { OneAtATime } from '../base/one-at-a-time.ts';
import type { NewTurn } from '../context/contexts.ts';
import type { Store } from '../store/store.ts';
import {
  contextsUnder,
  joinName,
  splitName,
  batchesOf,
  ownPayload,
  toJsonTurn,
  withRetries,
} from '../agents/contexts.ts';

const ENTRY = 'claude.entry';
const KIND = 'claude-agent';
const TRANSCRIPTS_MAX = 256;

/** A transcript as this process knows it: what was read up to `head`. */
interface Transcript {
  readonly id: ContextId;
  head: TurnId;
  /** The depth of the next turn. */
  next: number;
  readonly uuids: Set<string>;
}

/** Keeps the transcripts of the Claude Agent SDK in a store: a context each, and a turn for each entry. */
export class QuipuSessionStore implements SessionStore {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #transcripts = new LruCache<string, Transcript>(TRANSCRIPTS_MAX, () => 1);
  readonly #writers = new OneAtATime<string>();

  /** `prefix` begins the names of the contexts, by default 'claude'. */
  constructor(store: Store, options: { prefix?: string } = {}) {
    this.#store = store;
    this.#prefix = options.prefix ?? 'claude';
  }

  /** Durable when it resolves, with one commit for all entries. Entries whose `uuid` is there already are left out. */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const name = this.#nameOf(key);
    await this.#writers.run(name, () =>
      withRetries(
        async () => {
          const transcript = await this.#read(name);
          const seen = new Set<string>();
          const turns: NewTurn[] = [];
          for (const entry of entries) {
            const { uuid } = entry;
            if (uuid !== undefined && (seen.has(uuid) || transcript.uuids.has(uuid))) continue;
            if (uuid !== undefined) seen.add(uuid);
            turns.push(toJsonTurn(ENTRY, entry));
          }
          for (const batch of batchesOf(turns)) {
            const expected = { expectedHead: transcript.head };
            const last = (
              await this.#store.contexts.appendBatch(transcript.id, batch, expected)
            ).at(-1);
            if (last === undefined) continue;
            transcript.head = last.id;
            transcript.next = last.depth + 1;
          }
          for (const uuid of seen) transcript.uuids.add(uuid);
        },
        () => this.#transcripts.delete(name),
      ),
    );
  }

  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const context = await this.#store.contexts.byName(this.#nameOf(key));
    if (context === undefined || context.head === 0n) return null;
    const entries: SessionStoreEntry[] = [];
    for await (const turn of this.#store.contexts.chain(context.head)) {
      const entry = ownPayload(turn, ENTRY);
      if (entry !== undefined) entries.push(entry as SessionStoreEntry);
    }
    return entries;
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const found = await contextsUnder(this.#store, this.#prefix, projectKey);
    return found.flatMap(({ name, updatedAt }) => {
      const [sessionId = '', subpath] = splitName(name).slice(2);
      return subpath === '' ? [{ sessionId, mtime: updatedAt }] : [];
    });
  }

  /** Removes a transcript; that of a session with those of its subagents. */
  async delete({ projectKey, sessionId, subpath }: SessionKey): Promise<void> {
    for (const { id, name } of await contextsUnder(
      this.#store,
      this.#prefix,
      projectKey,
      sessionId,
    )) {
      if (subpath !== undefined && splitName(name).at(-1) !== subpath) continue;
      await this.#store.contexts.remove(id);
      this.#transcripts.delete(name);
    }
  }

  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const found = await contextsUnder(this.#store, this.#prefix, key.projectKey, key.sessionId);
    return found
      .map(({ name }) => splitName(name).at(-1) ?? '')
      .filter((subpath) => subpath !== '');
  }

  #nameOf({ projectKey, sessionId, subpath = '' }: SessionKey): string {
    if (typeof sessionId !== 'string' || sessionId === '') throw invalid('sessionId', 'is missing');
    return joinName(this.#prefix, projectKey, sessionId, subpath);
  }

  /** Returns the transcript with the ids of all its entries. Reads only what is new. */
  async #read(name: string): Promise<Transcript> {
    const { id, head, headDepth } = await this.#store.contexts.getOrCreate(name, { kind: KIND });
    const known = this.#transcripts.get(name);
    if (known?.id === id && known.head === head) return known;
    const transcript = known?.id === id ? known : { id, head, next: 0, uuids: new Set<string>() };
    let from: number | undefined = head === 0n ? undefined : transcript.next;
    while (from !== undefined && from <= headDepth) {
      const page = await this.#store.contexts.range(id, from, headDepth + 1);
      for (const turn of page.turns) {
        const { uuid } = (ownPayload(turn, ENTRY) ?? {}) as Partial<SessionStoreEntry>;
        if (uuid !== undefined) transcript.uuids.add(uuid);
      }
      from = page.nextDepth;
    }
    transcript.head = head;
    transcript.next = head === 0n ? 0 : headDepth + 1;
    this.#transcripts.set(name, transcript);
    return transcript;
  }
}
