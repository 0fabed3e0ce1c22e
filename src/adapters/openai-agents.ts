import type {
  AgentInputItem,
  Session,
  SessionHistoryRewriteArgs,
  SessionHistoryRewriteAwareSession,
} from '@openai/agents-core';
import { NO_TURN, type ContextId, type TurnId } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import type { Context } from '../context/context.ts';
import type { NewTurn } from '../context/contexts.ts';
import type { Turn } from '../context/turn.ts';
import type { Store } from '../store/store.ts';
import {
  joinName,
  batchesOf,
  keptOf,
  ownPayload,
  replaceAfter,
  toJsonTurn,
  withRetries,
} from '../agents/contexts.ts';

const ITEM = 'openai.item';
const KIND = 'openai-agents';
const PAGE_TURNS = 1000;

/** A session of the OpenAI Agents SDK: a context, and a turn for each item. */
export class QuipuSession implements Session, SessionHistoryRewriteAwareSession {
  readonly #store: Store;
  readonly #sessionId: string;
  readonly #prefix: string;
  readonly #name: string;

  /**
   * `sessionId` names a session that is there or that begins now; without it the session gets a new id. `prefix` begins
   * the name of the context, by default 'openai-agents'.
   */
  constructor(store: Store, options: { sessionId?: string; prefix?: string } = {}) {
    const { sessionId = crypto.randomUUID(), prefix = KIND } = options;
    if (typeof sessionId !== 'string' || sessionId === '') throw invalid('sessionId', 'is empty');
    this.#store = store;
    this.#sessionId = sessionId;
    this.#prefix = prefix;
    this.#name = joinName(prefix, sessionId);
  }

  getSessionId(): Promise<string> {
    return Promise.resolve(this.#sessionId);
  }

  /** Returns the newest `limit` items, or all of them, from older to newer. */
  async getItems(limit: number = Infinity): Promise<AgentInputItem[]> {
    const context = await this.#store.contexts.byName(this.#name);
    if (context === undefined) return [];
    return (await this.#itemTurns(context.id, limit)).map(
      ({ payload }) => payload as AgentInputItem,
    );
  }

  /** The items are durable when this resolves, and stand together unless there are more than 5,000. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    for (const batch of batchesOf(items.map(toTurn))) {
      await this.#withContext(({ id }) => this.#store.contexts.appendBatch(id, batch));
    }
  }

  /** Moves the head back by one item. The item stays in the store, and `moveHead` finds it again. */
  async popItem(): Promise<AgentInputItem | undefined> {
    return withRetries(async () => {
      const context = await this.#store.contexts.byName(this.#name);
      const [turn] = context === undefined ? [] : await this.#itemTurns(context.id, 1);
      if (context === undefined || turn === undefined) return undefined;
      const expected = { expectedHead: context.head };
      await this.#store.contexts.moveHead(context.id, turn.parent, expected);
      return turn.payload as AgentInputItem;
    });
  }

  /** Moves the head to before the first item. The items stay in the store as a branch that was left. */
  async clearSession(): Promise<void> {
    const context = await this.#store.contexts.byName(this.#name);
    if (context !== undefined) await this.#store.contexts.moveHead(context.id, NO_TURN);
  }

  /** The SDK calls this to put a summary in the place of the history. One commit, so no reader sees half of it. */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    await this.#rewrite(() => items);
  }

  /** The SDK calls this when a person approved a tool call with other arguments. */
  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    await this.#rewrite((items) => {
      let next = items;
      for (const { callId, replacement } of mutations) {
        const isCall = (item: AgentInputItem): boolean =>
          item.type === 'function_call' && item.callId === callId;
        const first = next.findIndex(isCall);
        next = next.flatMap((item, at) => {
          if (!isCall(item)) return [item];
          return at === first ? [replacement] : [];
        });
      }
      return next;
    });
  }

  /**
   * Returns a new session with the first `keep` items of this one, or all of them. Nothing is copied, and each session
   * goes its own way from there.
   */
  async fork(options: { sessionId?: string; keep?: number } = {}): Promise<QuipuSession> {
    const { sessionId = crypto.randomUUID(), keep = Infinity } = options;
    const fork = new QuipuSession(this.#store, { sessionId, prefix: this.#prefix });
    const context = await this.#store.contexts.byName(this.#name);
    const turns = context === undefined ? [] : await this.#itemTurns(context.id, Infinity);
    const last = keep >= 1 ? turns.slice(0, keep).at(-1) : undefined;
    await this.#store.contexts.create({
      name: fork.#name,
      kind: KIND,
      ...(last !== undefined && { base: last.id }),
    });
    return fork;
  }

  /** Returns the turns of the newest `limit` items. Turns of others, and items that were erased, are left out. */
  async #itemTurns(id: ContextId, limit: number): Promise<Turn[]> {
    const pages: Turn[][] = [];
    let left = limit;
    let cursor: TurnId | undefined;
    while (left > 0) {
      const count = Math.min(PAGE_TURNS, left);
      const page =
        cursor === undefined
          ? await this.#store.contexts.last(id, count)
          : await this.#store.contexts.before(id, cursor, count);
      const items = page.turns.filter((turn) => ownPayload(turn, ITEM) !== undefined);
      pages.push(items);
      left -= items.length;
      ({ cursor } = page);
      if (cursor === undefined) break;
    }
    return pages.toReversed().flat();
  }

  /** Stores what `change` makes of the items: a branch from the last item that stays as it is. */
  async #rewrite(change: (items: AgentInputItem[]) => AgentInputItem[]): Promise<void> {
    await this.#withContext(async (context) => {
      const old = await this.#itemTurns(context.id, Infinity);
      const items = change(old.map(({ payload }) => payload as AgentInputItem));
      const { keep, parent } = keptOf(context.head, old, items);
      await replaceAfter(this.#store, context, items.slice(keep).map(toTurn), { parent });
    });
  }

  /** Makes the context when it is not there, and tries again when another writer was first. */
  async #withContext(write: (context: Context) => Promise<unknown>): Promise<void> {
    await withRetries(async () => {
      await write(await this.#store.contexts.getOrCreate(this.#name, { kind: KIND }));
    });
  }
}

/** JSON has no bytes, and an image may be given as bytes: such an item is stored as CBOR. */
function toTurn(item: AgentInputItem): NewTurn {
  return hasBytes(item) ? { type: ITEM, encoding: 'cbor', payload: item } : toJsonTurn(ITEM, item);
}

function hasBytes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof Uint8Array || Object.values(value).some(hasBytes);
}
