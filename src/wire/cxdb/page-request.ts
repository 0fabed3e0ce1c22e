import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';
import { PageFlag } from '../request-flags.ts';

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

export function pageFlags(options: PageOptions): number {
  return (
    (options.wantExt ? PageFlag.WANT_EXT : 0) |
    (options.wantOpen ? PageFlag.WANT_OPEN : 0) |
    (options.asOf === undefined ? 0 : PageFlag.HAS_AS_OF) |
    (options.maxBytes === undefined ? 0 : PageFlag.HAS_MAX_BYTES)
  );
}

export function encodeGetLast(request: GetLast): Parts {
  return writeOptions(new ByteWriter(28).u64(request.context), request);
}

/** `flags` holds only the flags that count, see `countingFlags`. */
export function decodeGetLast(payload: Uint8Array, flags: number): GetLast {
  const reader = new ByteReader(payload, 'GET_LAST');
  return { context: reader.u64('context_id'), ...readOptions(reader, flags) };
}

export function encodeGetBefore(request: GetBefore): Parts {
  return writeOptions(new ByteWriter(36).u64(request.context).u64(request.before), request);
}

/** Refuses turn 0, so that a loop that misses the end of the cursors fails instead of starting over. */
export function decodeGetBefore(payload: Uint8Array, flags: number): GetBefore {
  const reader = new ByteReader(payload, 'GET_BEFORE');
  const context = reader.u64('context_id');
  const before = reader.u64('before_turn_id');
  if (before === 0n) throw reader.wrong('before_turn_id', 'is 0: nothing is older');
  return { context, before, ...readOptions(reader, flags) };
}

export function encodeGetRange(request: GetRange): Parts {
  const writer = new ByteWriter(40).u64(request.context).u64(request.chainEnd);
  return writeOptions(writer.u32(request.startDepth), request);
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

function writeOptions(writer: ByteWriter, options: PageOptions): Parts {
  writer.u32(options.limit).u32(options.payload ? 1 : 0);
  if (options.asOf !== undefined) writer.u64(options.asOf);
  if (options.maxBytes !== undefined) writer.u32(options.maxBytes);
  return writer.parts();
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
