import type { Hash } from '../../src/base/brand.ts';
import { HASH_BYTES } from '../../src/base/hash.ts';
import { Compression, writeKey, writeTurnInput } from '../../src/wire/append-turn.ts';
import type { Ack } from '../../src/wire/append-turn.ts';
import { ByteReader, ByteWriter } from '../../src/wire/byte-codec.ts';
import type { Parts } from '../../src/wire/byte-codec.ts';
import { outcomeNumber, readOutcome, PatchFlag } from '../../src/wire/cxdb/messages.ts';
import type {
  AppendBatch,
  BatchAck,
  PutBlob,
  PutBlobReply,
  Head,
  PatchReply,
  PatchRequest,
  AppendDelta,
  DeltaAck,
  Seal,
} from '../../src/wire/cxdb/messages.ts';
import { EXT_ROW_BYTES, TURN_REC_BYTES_MIN, PushKind } from '../../src/wire/cxdb/turns.ts';
import type {
  ExtRow,
  GetBefore,
  GetLast,
  GetRange,
  Page,
  PageOptions,
  TurnRec,
  Push,
  Subscribe,
} from '../../src/wire/cxdb/turns.ts';
import { FRAME_PAYLOAD_MAX } from '../../src/wire/limits.ts';
import { AppendFlag, PageFlag } from '../../src/wire/message-type.ts';

// The client's half of the messages of cxdb: requests as bytes, and answers from bytes. The product has the server's
// half only, because its own client asks with CALL.

type Pushed<K extends Push['kind']> = Extract<Push, { readonly kind: K }>;

export function decodeAck(payload: Uint8Array): Ack {
  const reader = new ByteReader(payload, 'ACK');
  return {
    context: reader.u64('context_id'),
    turn: reader.u64('turn_id'),
    depth: reader.u32('depth'),
    hash: reader.hashOrNone('payload_hash'),
  };
}

export function appendBatchFlags(batch: AppendBatch): number {
  return batch.expectHead ? AppendFlag.EXPECT_HEAD : 0;
}

export function encodeAppendBatch(batch: AppendBatch): Parts {
  const writer = new ByteWriter().u64(batch.context).u64(batch.parent).u32(batch.items.length);
  for (const { turn, fsRoot } of batch.items) {
    writer.u32(fsRoot === undefined ? 0 : 1);
    writeTurnInput(writer, turn);
    if (fsRoot !== undefined) writer.hash(fsRoot);
  }
  writeKey(writer, batch.key);
  return writer.parts();
}

export function decodeBatchAck(payload: Uint8Array): BatchAck {
  const reader = new ByteReader(payload, 'APPEND_BATCH reply');
  const context = reader.u64('context_id');
  const count = reader.items32('turn', 44);
  const turns: BatchAck['turns'][number][] = [];
  for (let index = 0; index < count; index += 1) {
    const id = reader.u64('turn_id');
    turns.push({ id, depth: reader.u32('depth'), hash: reader.hash('payload_hash') });
  }
  return { context, turns };
}

export function decodeGetBlobReply(payload: Uint8Array): Uint8Array {
  const reader = new ByteReader(payload, 'GET_BLOB reply');
  return reader.bytes(reader.u32('len'), 'bytes');
}

export function decodePutBlobReply(payload: Uint8Array): PutBlobReply {
  const reader = new ByteReader(payload, 'PUT_BLOB reply');
  return { hash: reader.hash('hash'), wasNew: reader.u8('was_new') !== 0 };
}

export function encodeGetBlob(hash: Hash): Parts {
  return new ByteWriter(HASH_BYTES).hash(hash).parts();
}

export function encodePutBlob(put: PutBlob): Parts {
  return new ByteWriter().hash(put.hash).sized32(put.bytes).parts();
}

export function decodeHead(payload: Uint8Array): Head {
  const reader = new ByteReader(payload, 'HEAD');
  return {
    context: reader.u64('context_id'),
    head: reader.u64('head_turn_id'),
    depth: reader.u32('head_depth'),
  };
}

/** Also encodes CTX_FORK: the two behave alike. `base` 0 asks for an empty context. */
export function encodeCtxCreate(base: bigint): Parts {
  return new ByteWriter(8).u64(base).parts();
}

export function encodeGetHead(context: bigint): Parts {
  return new ByteWriter(8).u64(context).parts();
}

export function decodeDeltaAck(payload: Uint8Array): DeltaAck {
  const reader = new ByteReader(payload, 'APPEND_DELTA reply');
  return { turn: reader.u64('turn_id'), totalLength: reader.count64('total_len') };
}

export function encodeAppendDelta(delta: AppendDelta): Parts {
  return new ByteWriter()
    .u64(delta.context)
    .u64(delta.turn)
    .count64(delta.offset)
    .sized32(delta.bytes)
    .parts();
}

export function encodeSeal(seal: Seal): Parts {
  return new ByteWriter()
    .u64(seal.context)
    .u64(seal.turn)
    .u32(outcomeNumber(seal.outcome))
    .count64(seal.totalLength)
    .hash(seal.hash)
    .sized32(seal.reason)
    .parts();
}

export function decodePage(payload: Uint8Array): Page {
  const reader = new ByteReader(payload, 'PAGE');
  const count = reader.items32('turn', TURN_REC_BYTES_MIN);
  const turns: TurnRec[] = [];
  for (let index = 0; index < count; index += 1) turns.push(readTurnRec(reader));
  const cursor = reader.u64('next_cursor_turn_id');
  const head = reader.u64('head_turn_id');
  const headDepth = reader.u32('head_depth');
  const ext = reader.remaining === 0 ? undefined : readExt(reader, count);
  return { turns, cursor, head, headDepth, ext };
}

/** Rows may become longer; fields that this reader does not know are at their end. */
function readExt(reader: ByteReader, count: number): ExtRow[] {
  const rowBytes = reader.u32('row_size');
  if (rowBytes < EXT_ROW_BYTES) throw reader.wrong('row_size', `is at least ${EXT_ROW_BYTES}`);
  const rows: ExtRow[] = [];
  for (let index = 0; index < count; index += 1) {
    rows.push(readExtRow(new ByteReader(reader.bytes(rowBytes, 'ext'), 'EXT')));
  }
  return rows;
}

export function encodeGetBefore(request: GetBefore): Parts {
  return writeOptions(new ByteWriter(36).u64(request.context).u64(request.before), request);
}

export function encodeGetLast(request: GetLast): Parts {
  return writeOptions(new ByteWriter(28).u64(request.context), request);
}

export function encodeGetRange(request: GetRange): Parts {
  const writer = new ByteWriter(40).u64(request.context).u64(request.chainEnd);
  return writeOptions(writer.u32(request.startDepth), request);
}

export function pageFlags(options: PageOptions): number {
  return (
    (options.wantExt ? PageFlag.WANT_EXT : 0) |
    (options.wantOpen ? PageFlag.WANT_OPEN : 0) |
    (options.asOf === undefined ? 0 : PageFlag.HAS_AS_OF) |
    (options.maxBytes === undefined ? 0 : PageFlag.HAS_MAX_BYTES)
  );
}

function writeOptions(writer: ByteWriter, options: PageOptions): Parts {
  writer.u32(options.limit).u32(options.payload ? 1 : 0);
  if (options.asOf !== undefined) writer.u64(options.asOf);
  if (options.maxBytes !== undefined) writer.u32(options.maxBytes);
  return writer.parts();
}

function readTurnRec(reader: ByteReader): TurnRec {
  const id = reader.u64('turn_id');
  const parent = reader.u64('parent_turn_id');
  const depth = reader.u32('depth');
  const type = reader.text(reader.length32('type_id', FRAME_PAYLOAD_MAX), 'type_id');
  const version = reader.u32('type_version');
  const encoding = reader.u32('encoding');
  if (reader.u32('compression') !== Compression.none) {
    throw reader.wrong('compression', 'is 0 in records');
  }
  const size = reader.u32('uncompressed_len');
  const hash = reader.hashOrNone('payload_hash');
  const payload = reader.bytes(reader.u32('payload_len'), 'payload');
  return { id, parent, depth, type, version, encoding, size, hash, payload };
}

function readExtRow(reader: ByteReader): ExtRow {
  const createdAt = reader.count64('created_at');
  const flags = reader.u32('turn_flags');
  reader.u32('zero');
  return { createdAt, flags, patchSeq: reader.u64('patch_seq') };
}

export function decodePatchReply(payload: Uint8Array): PatchReply {
  const reader = new ByteReader(payload, 'PATCH reply');
  return {
    turn: reader.u64('target_turn_id'),
    seq: reader.u64('patch_seq'),
    hash: reader.hashOrNone('effective_hash'),
  };
}

export function encodePatch(patch: PatchRequest): Parts {
  const flags =
    (patch.hash === undefined ? PatchFlag.TOMBSTONE : 0) |
    (patch.expectSeq === undefined ? 0 : PatchFlag.CHECK_SEQ);
  const writer = new ByteWriter()
    .u64(patch.turn)
    .u32(flags)
    .u64(patch.expectSeq ?? 0n)
    .hash(patch.hash)
    .sized32(patch.payload);
  writeKey(writer, patch.key);
  return writer.parts();
}

export function encodeSubscribe(subscribe: Subscribe): Parts {
  return new ByteWriter(20).u64(subscribe.context).u64(subscribe.after).u32(subscribe.want).parts();
}

export function decodePush(payload: Uint8Array): Push {
  const reader = new ByteReader(payload, 'push');
  const kind = reader.u32('kind');
  const turn = reader.u64('turn_id');
  switch (kind) {
    case PushKind.TURN:
      return { kind: 'turn', rec: readTurnRec(reader), ext: readExtRow(reader) };
    case PushKind.OPENED:
      return { kind: 'opened', rec: readTurnRec(reader), ext: readExtRow(reader) };
    case PushKind.DELTA:
      return { kind: 'delta', turn, ...readDelta(reader) };
    case PushKind.SEALED:
      return { kind: 'sealed', turn, ...readSeal(reader) };
    case PushKind.HEAD:
      return { kind: 'head', ...readHead(reader) };
    case PushKind.PATCHED:
      return { kind: 'patched', turn, ...readPatch(reader) };
    case PushKind.CAUGHT_UP:
      return { kind: 'caught-up', turn };
    default:
      throw reader.wrong('kind', `is 1 to 7, got ${kind}`);
  }
}

function readDelta(reader: ByteReader): Pick<Pushed<'delta'>, 'offset' | 'bytes'> {
  const offset = reader.count64('offset');
  return { offset, bytes: reader.bytes(reader.u32('len'), 'bytes') };
}

function readSeal(reader: ByteReader): Pick<Pushed<'sealed'>, 'outcome' | 'totalLength' | 'hash'> {
  const outcome = readOutcome(reader);
  const totalLength = reader.count64('total_len');
  return { outcome, totalLength, hash: reader.hash('payload_hash') };
}

function readHead(reader: ByteReader): Pick<Pushed<'head'>, 'common' | 'head' | 'headDepth'> {
  const common = reader.u64('common_turn_id');
  return { common, head: reader.u64('head_turn_id'), headDepth: reader.u32('head_depth') };
}

function readPatch(reader: ByteReader): Pick<Pushed<'patched'>, 'seq' | 'flags' | 'hash'> {
  const seq = reader.u64('patch_seq');
  return { seq, flags: reader.u32('patch_flags'), hash: reader.hashOrNone('new_payload_hash') };
}
