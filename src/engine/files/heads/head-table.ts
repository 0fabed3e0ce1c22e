import { WAITING_FILE } from '../disk/write-behind.ts';
import { orNothing } from '../../../base/errors.ts';
import { FILE_MAGIC } from '../../../format/file-header.ts';
import { LruCache } from '../../../base/lru-cache.ts';
import {
  decodeHeadRecord,
  HEAD_RECORD_BYTES,
  type HeadRecord,
} from '../../../format/head-record.ts';
import { decodeHeadMoves, headMovesName, type HeadMove } from '../../../format/head-moves.ts';
import { corrupt, REPAIR } from '../disk/io-error.ts';
import { openTurnFile } from '../open-turns/open-turns.ts';
import type { ContextPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { RecordFile } from '../truth/record-file.ts';
import type { State } from '../truth/state.ts';

/** The records of this file wait for a checkpoint. */
export const HEADS_FILE: string = WAITING_FILE;

export const HEAD_RECORDS: RecordFile<HeadRecord> = new RecordFile({
  name: HEADS_FILE,
  magic: FILE_MAGIC.heads,
  bytes: HEAD_RECORD_BYTES,
  tail: 'nextContext',
  what: 'the head of context',
  decode: decodeHeadRecord,
  has: ({ id }, number) => Number(id) === number,
});

const CACHED_HEAD_BYTES = 256;

/** Other facts about a context, from its turns and its document. */
type SeenContext = Pick<ContextPlace, 'head' | 'removed'>;

/** The head of each context. Slots are written in place, always through the journal. */
export class HeadTable {
  readonly #files: StoreFiles;
  readonly #heads: LruCache<number, HeadRecord>;

  constructor(files: StoreFiles, cacheBytes: number) {
    this.#files = files;
    this.#heads = new LruCache(cacheBytes, () => CACHED_HEAD_BYTES);
  }

  /** Like `get`, if the record is in memory. */
  peek(id: number): HeadRecord | undefined {
    return this.#heads.get(id);
  }

  /** Trusts `id` to have been handed out: an unreadable slot is damage. */
  async get(id: number, seen: (id: number) => SeenContext | undefined): Promise<HeadRecord> {
    const cached = this.#heads.get(id);
    if (cached !== undefined) return cached;
    const record = await HEAD_RECORDS.read(this.#files, id);
    const offset = id * HEAD_RECORD_BYTES;
    if (record === undefined) {
      throw corrupt(HEADS_FILE, offset, `the head of context ${id} is damaged`, REPAIR);
    }
    // An intact slot can still be an old one that a disk brought back. Other facts about the context must agree.
    const expected = seen(id);
    if (expected !== undefined && isOld(record, expected)) {
      const was = expected.removed ? 'was removed' : `got to turn ${expected.head}`;
      const what = `context ${id} is at turn ${record.head}, but ${was}`;
      throw corrupt(HEADS_FILE, offset, what, REPAIR);
    }
    // The head may have moved while the slot was read.
    const moved = this.#heads.get(id);
    if (moved !== undefined) return moved;
    this.#heads.set(id, record);
    return record;
  }

  put(record: HeadRecord): void {
    this.#heads.set(Number(record.id), record);
  }
}

/**
 * The head, if the turn that it calls open is open. Otherwise that turn's file was damaged, and no one continues
 * it.
 */
export function withOpen(head: HeadRecord, openTurns: ReadonlyMap<number, unknown>): HeadRecord {
  const { id, openTurn, removed } = head;
  if (openTurn === 0n || removed || openTurns.has(Number(openTurn))) return head;
  const what = `the file of turn ${openTurn}, which is open in context ${id}, is damaged or gone`;
  const advice =
    'restore it from a backup, or run "quipu verify --repair", which gives that turn up';
  throw corrupt(openTurnFile(Number(openTurn)), 0, what, advice);
}

function isOld(record: HeadRecord, seen: SeenContext): boolean {
  if (record.removed !== seen.removed) return true;
  return !record.removed && Number(record.head) !== seen.head;
}

/** Where the head of a context was moved last. Undefined also when the documents cannot be read. */
export async function readMove(core: State, id: number): Promise<HeadMove | undefined> {
  const doc = await orNothing(() => core.getDoc(headMovesName(id)), 'CORRUPT');
  return doc && decodeHeadMoves(doc.content)?.move;
}

/** Tells the index where a context is. */
export function indexHead(index: Index, head: HeadRecord): void {
  const { createdAt, updatedAt, removed } = head;
  const turns = { head: Number(head.head), base: Number(head.base) };
  index.setContext(Number(head.id), { ...turns, createdAt, updatedAt, removed });
}
