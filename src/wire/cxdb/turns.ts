import type { Hash } from '../../base/brand.ts';
import { Compression } from '../append-turn.ts';
import { ByteReader, ByteWriter } from '../byte-codec.ts';
import type { Parts } from '../byte-codec.ts';
import { PageFlag } from '../message-type.ts';
import { outcomeNumber } from './messages.ts';
import type { Outcome } from './messages.ts';

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

// SUBSCRIBE: u64 context, u64 after, u32 want.    Reply: HEAD, then pushes (below).

/** A value of `after`: asks only for events from now on. */
export const FROM_NOW: bigint = 2n ** 64n - 1n;

/** Bits of `want`. */
export const Want = {
  PAYLOADS: 1,
  /** Open turns, their deltas and their seals. */
  OPEN: 2,
  PATCHES: 4,
} as const;

const KNOWN_WANTS = Want.PAYLOADS | Want.OPEN | Want.PATCHES;

export interface Subscribe {
  readonly context: bigint;
  /** The last turn that the client has; 0: the client has none. */
  readonly after: bigint;
  readonly want: number;
}

export function decodeSubscribe(payload: Uint8Array): Subscribe {
  const reader = new ByteReader(payload, 'SUBSCRIBE');
  const context = reader.u64('context_id');
  const after = reader.u64('after_turn_id');
  const want = reader.u32('want');
  if ((want & ~KNOWN_WANTS) !== 0) throw reader.wrong('want', `has unknown bits: ${want}`);
  return { context, after, want };
}

// The pushes to a subscriber, in frames of type SUBSCRIBE with the flag PUSHED: u32 kind, u64 turn, body.

export const PushKind = {
  TURN: 1,
  OPENED: 2,
  DELTA: 3,
  SEALED: 4,
  HEAD: 5,
  PATCHED: 6,
  CAUGHT_UP: 7,
} as const;

export type Push =
  /** A sealed turn. Body: TURN_REC, EXT row. */
  | { readonly kind: 'turn'; readonly rec: TurnRec; readonly ext: ExtRow }
  /** An open turn with the bytes so far. Body: TURN_REC, EXT row. */
  | { readonly kind: 'opened'; readonly rec: TurnRec; readonly ext: ExtRow }
  | PushedDelta
  | PushedSeal
  | PushedHead
  | PushedPatch
  /** The backlog is done; `turn` is the last one sent, or the one asked to start after. No body. */
  | { readonly kind: 'caught-up'; readonly turn: bigint };

/** Body: u64 offset, u32 len, bytes. */
interface PushedDelta {
  readonly kind: 'delta';
  readonly turn: bigint;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Ends a turn announced as opened. Body: u32 outcome, u64 total_len, hash. */
interface PushedSeal {
  readonly kind: 'sealed';
  readonly turn: bigint;
  readonly outcome: Outcome;
  readonly totalLength: number;
  readonly hash: Hash;
}

/** The head moved to another branch. `turn` is the head. Body: u64 common_turn, u64 head, u32 head_depth. */
interface PushedHead {
  readonly kind: 'head';
  /** The turns after this one follow. */
  readonly common: bigint;
  readonly head: bigint;
  readonly headDepth: number;
}

/** Body: u64 patch_seq, u32 flags, hash or zeros. */
interface PushedPatch {
  readonly kind: 'patched';
  readonly turn: bigint;
  readonly seq: bigint;
  /** Bits of `PatchFlag`. */
  readonly flags: number;
  /** Undefined for a tombstone. */
  readonly hash: Hash | undefined;
}

export function encodePush(push: Push): Parts {
  const writer = new ByteWriter();
  switch (push.kind) {
    case 'turn':
    case 'opened':
      writer.u32(push.kind === 'turn' ? PushKind.TURN : PushKind.OPENED).u64(push.rec.id);
      writeTurnRec(writer, push.rec);
      writeExtRow(writer, push.ext);
      break;
    case 'delta':
      writer.u32(PushKind.DELTA).u64(push.turn).count64(push.offset).sized32(push.bytes);
      break;
    case 'sealed':
      writer.u32(PushKind.SEALED).u64(push.turn).u32(outcomeNumber(push.outcome));
      writer.count64(push.totalLength).hash(push.hash);
      break;
    case 'head':
      writer.u32(PushKind.HEAD).u64(push.head).u64(push.common).u64(push.head).u32(push.headDepth);
      break;
    case 'patched':
      writer.u32(PushKind.PATCHED).u64(push.turn).u64(push.seq).u32(push.flags).hash(push.hash);
      break;
    case 'caught-up':
      writer.u32(PushKind.CAUGHT_UP).u64(push.turn);
  }
  return writer.parts();
}
