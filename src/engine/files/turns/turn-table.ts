import { isCollected } from '../../../format/collected-map.ts';
import type { TurnEdge } from '../../upkeep.ts';
import type { State } from '../truth/state.ts';
import { LruCache } from '../../../base/lru-cache.ts';
import {
  decodeTurnRecord,
  TURN_RECORD_BYTES,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import type { StoredTurn } from '../../plan/draft.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { TypeTable } from './type-table.ts';

export const TURNS_FILE = 'turns/turns.log';

/** The approximate size of a cached row in V8: the object, two bigints, a 64-character hash. */
const CACHED_TURN_BYTES = 512;
/** Neighbours are read together: a chain appended at once lies in consecutive slots. */
const PAGE_RECORDS = 32;
const PAGE_BYTES = PAGE_RECORDS * TURN_RECORD_BYTES;
const ZERO_RECORD = Buffer.alloc(TURN_RECORD_BYTES);

/** Sealed turns by id. A slot is written once, so a cached turn is never stale. */
export class TurnTable {
  readonly #files: StoreFiles;
  readonly #types: TypeTable;
  readonly #turns: LruCache<number, StoredTurn>;
  #reads = 0;

  constructor(files: StoreFiles, types: TypeTable, cacheBytes: number) {
    this.#files = files;
    this.#types = types;
    this.#turns = new LruCache(cacheBytes, () => CACHED_TURN_BYTES);
  }

  /** The number of records requested since the store was opened, from the cache or not. */
  get reads(): number {
    return this.#reads;
  }

  /** Like `get`, if the turn is in memory: a caller that walks a chain need not wait for each turn. */
  peek(id: number): StoredTurn | undefined {
    const cached = this.#turns.get(id);
    if (cached !== undefined) this.#reads += 1;
    return cached;
  }

  /** Undefined for an empty slot: a turn that is open, or was never appended. */
  async get(id: number): Promise<StoredTurn | undefined> {
    this.#reads += 1;
    const cached = this.#turns.get(id);
    if (cached !== undefined) return cached;
    const page = Math.floor(id / PAGE_RECORDS);
    const bytes = await this.#files.read(TURNS_FILE, page * PAGE_BYTES, PAGE_BYTES);
    return this.#takePage(page, bytes, id);
  }

  put(turn: StoredTurn): void {
    this.#turns.set(Number(turn.row.id), turn);
  }

  toStored(record: TurnRecord): StoredTurn | undefined {
    const declared = this.#types.get(record.typeTag);
    if (declared === undefined) return undefined;
    const { id, parent, context, depth, encoding, payload, size, flags, createdAt } = record;
    const { type, version } = declared;
    const row = {
      id,
      parent,
      context,
      depth,
      type,
      version,
      encoding,
      payload,
      size,
      flags,
      createdAt,
    };
    const { idempotency } = record;
    return { row, jump: Number(record.jump), sideJump: Number(record.sideJump), idempotency };
  }

  /** Also caches the older neighbours of `wanted`: a reader of a turn mostly reads its parents next. */
  #takePage(page: number, bytes: Uint8Array, wanted: number): StoredTurn | undefined {
    for (let id = Math.max(1, page * PAGE_RECORDS); id < wanted; id += 1) {
      const neighbour =
        this.#turns.get(id) === undefined ? this.#decode(bytes, page, id) : undefined;
      if (neighbour !== undefined && neighbour !== 'damaged') this.#turns.set(id, neighbour);
    }
    const turn = this.#decode(bytes, page, wanted);
    if (turn === 'damaged') {
      throw corrupt(
        TURNS_FILE,
        wanted * TURN_RECORD_BYTES,
        `the record of turn ${wanted} is damaged`,
      );
    }
    if (turn !== undefined) this.#turns.set(wanted, turn);
    return turn;
  }

  #decode(bytes: Uint8Array, page: number, id: number): StoredTurn | 'damaged' | undefined {
    const at = (id - page * PAGE_RECORDS) * TURN_RECORD_BYTES;
    const slot = bytes.subarray(at, at + TURN_RECORD_BYTES);
    if (slot.length === 0 || ZERO_RECORD.equals(slot)) return undefined;
    const record = decodeTurnRecord(slot);
    if (record === undefined || record.id !== BigInt(id) || record.payload === undefined)
      return 'damaged';
    return this.toStored(record) ?? 'damaged';
  }
}

/** Small enough that a page of edges is decoded in a millisecond or two. */
const EDGE_RECORDS = 1024;

/** Yields sealed turns below `next` that are not collected, newest first. Skips `open` turns. */
export async function* readTurnEdges(
  { files, collected }: State,
  next: number,
  open: { has(id: number): boolean },
): AsyncGenerator<readonly TurnEdge[]> {
  for (let end = next; end > 1; end -= EDGE_RECORDS) {
    const first = Math.max(1, end - EDGE_RECORDS);
    const length = (end - first) * TURN_RECORD_BYTES;
    const bytes = await files.read(TURNS_FILE, first * TURN_RECORD_BYTES, length);
    const page: TurnEdge[] = [];
    for (let id = end - 1; id >= first; id -= 1) {
      if (open.has(id) || isCollected(collected, id)) continue;
      page.push(turnAt(bytes, (id - first) * TURN_RECORD_BYTES, id));
    }
    yield page;
  }
}

function turnAt(bytes: Uint8Array, at: number, id: number): TurnEdge {
  const turn = decodeTurnRecord(bytes.subarray(at, at + TURN_RECORD_BYTES));
  if (turn?.payload === undefined || turn.id !== BigInt(id)) {
    throw corrupt(TURNS_FILE, id * TURN_RECORD_BYTES, `the record of turn ${id} is damaged`);
  }
  return { id: turn.id, parent: turn.parent, payload: turn.payload };
}
