import type { Hash } from '../../base/brand.ts';
import { Compression } from '../append-turn.ts';
import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';
import { PageFlag } from '../message-type.ts';

// PAGE: u32 count, count × TURN_REC, TAIL.
// TAIL: u64 next_cursor, u64 head, u32 head_depth, [u32 row_size, count × EXT row].
// The tail is never left out: the Go client of cxdb takes a buffer that ends with an empty payload for
// a lost connection.

export interface Page {
  /** Oldest first. */
  readonly turns: readonly TurnRec[];
  /** The oldest turn of the page if it has a parent, else 0: nothing is older. */
  readonly cursor: bigint;
  readonly head: bigint;
  readonly headDepth: number;
  /** One row for each turn, if the client asked for rows. */
  readonly ext: readonly ExtRow[] | undefined;
}

export function encodePage(page: Page): Parts {
  const writer = new ByteWriter().u32(page.turns.length);
  for (const turn of page.turns) writeTurnRec(writer, turn);
  writer.u64(page.cursor).u64(page.head).u32(page.headDepth);
  if (page.ext !== undefined) {
    writer.u32(EXT_ROW_BYTES);
    for (const row of page.ext) writeExtRow(writer, row);
  }
  return writer.parts();
}

// GET_LAST:           u64 context,             u32 limit, u32 include_payload
// GET_BEFORE:         u64 context, u64 before, u32 limit, u32 include_payload
// GET_RANGE_BY_DEPTH: u64 context, u64 as_of, u32 start_depth, u32 limit, u32 include_payload
// each followed by [u64 patch_seq] with HAS_AS_OF and [u32 max_bytes] with HAS_MAX_BYTES.

/** A value of `startDepth`: asks for the last turns of the chain instead of a range. */
export const LAST_DEPTHS = 0xffff_ffff;

export interface PageOptions {
  readonly limit: number;
  readonly payload: boolean;
  readonly wantExt: boolean;
  /** Include the open turn at the tip. */
  readonly wantOpen: boolean;
  /** Apply patches up to this sequence number only; 0: none. */
  readonly asOf: bigint | undefined;
  readonly maxBytes: number | undefined;
}

export interface GetLast extends PageOptions {
  readonly context: bigint;
}

export interface GetBefore extends PageOptions {
  /** 0: any turn, whatever the context. */
  readonly context: bigint;
  readonly before: bigint;
}

export interface GetRange extends PageOptions {
  /** 0: any turn, whatever the context. */
  readonly context: bigint;
  /** The last turn of the chain; 0: the head. */
  readonly chainEnd: bigint;
  readonly startDepth: number;
}

/** `flags` holds only the flags that count, see `countingFlags`. */
export function decodeGetLast(payload: Uint8Array, flags: number): GetLast {
  const reader = new ByteReader(payload, 'GET_LAST');
  return { context: reader.u64('context_id'), ...readOptions(reader, flags) };
}

/** Refuses turn 0, so that a loop that misses the end of the cursors fails instead of starting over. */
export function decodeGetBefore(payload: Uint8Array, flags: number): GetBefore {
  const reader = new ByteReader(payload, 'GET_BEFORE');
  const context = reader.u64('context_id');
  const before = reader.u64('before_turn_id');
  if (before === 0n) throw reader.wrong('before_turn_id', 'is 0: nothing is older');
  return { context, before, ...readOptions(reader, flags) };
}

export function decodeGetRange(payload: Uint8Array, flags: number): GetRange {
  const reader = new ByteReader(payload, 'GET_RANGE_BY_DEPTH');
  return {
    context: reader.u64('context_id'),
    chainEnd: reader.u64('as_of_turn_id'),
    startDepth: reader.u32('start_depth'),
    ...readOptions(reader, flags),
  };
}

function readOptions(reader: ByteReader, flags: number): PageOptions {
  return {
    limit: reader.u32('limit'),
    payload: reader.u32('include_payload') !== 0,
    wantExt: (flags & PageFlag.WANT_EXT) !== 0,
    wantOpen: (flags & PageFlag.WANT_OPEN) !== 0,
    asOf: (flags & PageFlag.HAS_AS_OF) === 0 ? undefined : reader.u64('patch_seq'),
    maxBytes: (flags & PageFlag.HAS_MAX_BYTES) === 0 ? undefined : reader.u32('max_bytes'),
  };
}

// TURN_REC
// 0        8        16      20         24     24+T      28+T       32+T          36+T      40+T   72+T          76+T
// | turn   | parent | depth | type len | type | version | encoding | compression | raw len | hash | payload len | payload |
// | u64    | u64    | u32   | u32 = T  | T    | u32     | u32      | u32 = 0     | u32     | 32   | u32 = P     | P       |
//
// EXT row: u64 created_at_unix_ms, u32 flags, u32 zero, u64 patch_seq.
export const TURN_REC_BYTES_MIN = 76;

export const EXT_ROW_BYTES = 24;

/** Bits of a turn that only answers have, in addition to the lower ones of `TurnFlag` in `format/turn-record.ts`. */
export const WireTurnFlag = {
  /** The turn has a file-system root of its own. */
  FS_ROOT: 32,
  /** The payload was asked for and cannot be read. */
  UNREADABLE: 64,
} as const;

export interface TurnRec {
  readonly id: bigint;
  /** 0 for a root. */
  readonly parent: bigint;
  readonly depth: number;
  readonly type: string;
  readonly version: number;
  readonly encoding: number;
  /** Length of the payload, also when the payload itself is left out. */
  readonly size: number;
  /** Undefined (zeros) for an open turn and for a tombstone. */
  readonly hash: Hash | undefined;
  /** Empty when the client did not ask for it. */
  readonly payload: Uint8Array;
}

export interface ExtRow {
  readonly createdAt: number;
  /** Bits of `TurnFlag` below 32, and of `WireTurnFlag`. */
  readonly flags: number;
  /** The number of the newest patch that was applied, or 0. */
  readonly patchSeq: bigint;
}

export function writeTurnRec(writer: ByteWriter, rec: TurnRec): void {
  writer
    .u64(rec.id)
    .u64(rec.parent)
    .u32(rec.depth)
    .sized32(rec.type)
    .u32(rec.version)
    .u32(rec.encoding)
    .u32(Compression.none)
    .u32(rec.size)
    .hash(rec.hash)
    .sized32(rec.payload);
}

export function writeExtRow(writer: ByteWriter, row: ExtRow): void {
  writer.count64(row.createdAt).u32(row.flags).u32(0).u64(row.patchSeq);
}
