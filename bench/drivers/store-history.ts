import { type ContextId, toContextId, toTurnId } from '../../src/index.ts';
import type { Store, Turn } from '../../src/index.ts';
import type { ForkPoint, History } from './driver.ts';

const TYPE = 'chat.message';
const FILL_TURNS = 1000;

/** A store, wherever it is kept. */
export class StoreHistory implements History {
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  async create(): Promise<number> {
    return Number((await this.store.contexts.create()).id);
  }

  async append(thread: number, payload: Uint8Array): Promise<void> {
    await this.store.contexts.append(toContextId(thread), { type: TYPE, payload });
  }

  async fill(thread: number, payloads: Iterable<Uint8Array>): Promise<void> {
    const context = toContextId(thread);
    let batch: { type: string; payload: Uint8Array }[] = [];
    for (const payload of payloads) {
      batch.push({ type: TYPE, payload });
      if (batch.length < FILL_TURNS) continue;
      await this.store.contexts.appendBatch(context, batch);
      batch = [];
    }
    if (batch.length > 0) await this.store.contexts.appendBatch(context, batch);
  }

  async last(thread: number, n: number): Promise<number> {
    return countBytes((await this.store.contexts.last(toContextId(thread), n)).turns);
  }

  async values(thread: number, n: number): Promise<unknown[]> {
    const { turns } = await this.store.contexts.last(toContextId(thread), n);
    return turns.map(({ bytes }) => JSON.parse(Buffer.from(bytes ?? []).toString()) as unknown);
  }

  async range(thread: number, from: number, to: number): Promise<number> {
    return countBytes((await this.store.contexts.range(toContextId(thread), from, to)).turns);
  }

  async turnAt(thread: number, depth: number): Promise<ForkPoint> {
    const context: ContextId = toContextId(thread);
    const page = await this.store.contexts.range(context, depth, depth + 1, { payload: false });
    const [turn] = page.turns;
    if (turn === undefined) throw new RangeError(`thread ${thread} has no depth ${depth}`);
    return { thread, depth, turn: turn.id };
  }

  async fork({ turn }: ForkPoint): Promise<number> {
    return Number((await this.store.contexts.fork(toTurnId(turn))).id);
  }

  async close(): Promise<void> {
    await this.store.close();
  }
}

function countBytes(turns: readonly Turn[]): number {
  let bytes = 0;
  for (const turn of turns) bytes += turn.bytes?.length ?? 0;
  return bytes;
}
