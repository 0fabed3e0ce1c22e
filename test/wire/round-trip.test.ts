import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeFrame, FrameReader } from '../../src/wire/frame.ts';
import { FRAME_PAYLOAD_MAX } from '../../src/wire/limits.ts';
import { bytes, data, hash, safeNumber, text, u32 } from '../golden/arbitraries.ts';
import { MESSAGES, messageNamed } from './messages.ts';

// Any value that a message can have comes out of a frame as it went in, whatever the chunks.

const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const someHash = hash.filter((hex) => /[^0]/.test(hex));
const maybeHash = fc.option(someHash, { nil: undefined });
const key = fc.option(bytes(1, 40), { nil: undefined });
/** Large enough to travel as a part of its own now and then. */
const payload = fc.oneof({ weight: 9, arbitrary: data }, bytes(4090, 4100));
const u16 = fc.nat({ max: 0xffff });

const turn = fc.record({
  type: text,
  version: u32,
  encoding: u32,
  compression: fc.constantFrom(0, 1),
  rawLength: fc.nat({ max: 67_104_768 }),
  hash: someHash,
  payload,
});
const rec = fc.record({
  id: u64,
  parent: u64,
  depth: u32,
  type: text,
  version: u32,
  encoding: u32,
  size: u32,
  hash: maybeHash,
  payload,
});
const ext = fc.record({ createdAt: safeNumber, flags: u32, patchSeq: u64 });
const page = fc.array(fc.tuple(rec, ext), { maxLength: 4 }).chain((rows) =>
  fc.record({
    turns: fc.constant(rows.map(([one]) => one)),
    cursor: u64,
    head: u64,
    headDepth: u32,
    ext: fc.constantFrom(
      undefined,
      rows.map(([, row]) => row),
    ),
  }),
);
const options = {
  limit: u32,
  payload: fc.boolean(),
  wantExt: fc.boolean(),
  wantOpen: fc.boolean(),
  asOf: fc.option(u64, { nil: undefined }),
  maxBytes: fc.option(u32, { nil: undefined }),
};
const head = fc.record({ context: u64, head: u64, depth: u32 });
const ack = fc.record({ context: u64, turn: u64, depth: u32, hash: maybeHash });
const attach = fc.record({ turn: u64, fsRoot: someHash });
const reqId = bytes(8, 8);
const body = fc.record({ json: text, blobs: fc.array(payload, { maxLength: 4 }) });
const error = fc.record({
  code: u32,
  detail: text,
  quipu: fc.option(fc.record({ name: text, data: text }), { nil: undefined }),
});
const outcome = fc.constantFrom('complete', 'aborted', 'interrupted');
const push = fc.oneof(
  fc.record({ kind: fc.constantFrom('turn', 'opened'), rec, ext }),
  fc.record({ kind: fc.constant('delta'), turn: u64, offset: safeNumber, bytes: payload }),
  fc.record({
    kind: fc.constant('sealed'),
    turn: u64,
    outcome,
    totalLength: safeNumber,
    hash: someHash,
  }),
  fc.record({ kind: fc.constant('head'), common: u64, head: u64, headDepth: u32 }),
  fc.record({ kind: fc.constant('patched'), turn: u64, seq: u64, flags: u32, hash: maybeHash }),
  fc.record({ kind: fc.constant('caught-up'), turn: u64 }),
);

const VALUES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  HELLO: fc.record({ version: u16.filter((version) => version > 0), tag: text, meta: text }),
  'HELLO reply': fc.record({
    sessionId: u64,
    version: u16,
    caps: fc.option(text, { nil: undefined }),
  }),
  CTX_CREATE: u64,
  CTX_FORK: u64,
  GET_HEAD: u64,
  'CTX_CREATE reply': head,
  'CTX_FORK reply': head,
  'GET_HEAD reply': head,
  'SUBSCRIBE reply': head,
  APPEND_TURN: fc.record({
    context: u64,
    parent: u64,
    turn,
    key,
    fsRoot: fc.option(hash, { nil: undefined }),
    expectHead: fc.boolean(),
    open: fc.boolean(),
    wantRow: fc.boolean(),
  }),
  'APPEND_TURN reply': ack,
  'APPEND_TURN reply with the row': fc.record({
    context: u64,
    turn: u64,
    depth: u32,
    hash,
    seq: fc.maxSafeNat(),
    replayed: fc.boolean(),
    parent: u64,
    createdAt: fc.maxSafeNat(),
    turnFlags: u32,
    version: u32,
    encoding: u32,
    size: u32,
    type: fc.string({ maxLength: 40 }),
  }),
  'SEAL reply': ack,
  GET_LAST: fc.record({ context: u64, ...options }),
  GET_BEFORE: fc.record({ context: u64, before: u64.filter((id) => id > 0n), ...options }),
  GET_RANGE_BY_DEPTH: fc.record({ context: u64, chainEnd: u64, startDepth: u32, ...options }),
  'GET_LAST reply': page,
  'GET_BEFORE reply': page,
  'GET_RANGE_BY_DEPTH reply': page,
  GET_BLOB: hash,
  'GET_BLOB reply': payload,
  ATTACH_FS: attach,
  'ATTACH_FS reply': attach,
  PUT_BLOB: fc.record({ hash, bytes: payload }),
  'PUT_BLOB reply': fc.record({ hash, wasNew: fc.boolean() }),
  SUBSCRIBE: fc.record({ context: u64, after: u64, want: fc.nat({ max: 7 }) }),
  push,
  UNSUBSCRIBE: reqId,
  'UNSUBSCRIBE reply': reqId,
  APPEND_BATCH: fc.record({
    context: u64,
    parent: u64,
    items: fc.array(fc.record({ turn, fsRoot: fc.option(hash, { nil: undefined }) }), {
      minLength: 1,
      maxLength: 4,
    }),
    key,
    expectHead: fc.boolean(),
  }),
  'APPEND_BATCH reply': fc.record({
    context: u64,
    turns: fc.array(fc.record({ id: u64, depth: u32, hash }), { maxLength: 4 }),
  }),
  APPEND_DELTA: fc.record({ context: u64, turn: u64, offset: safeNumber, bytes: payload }),
  'APPEND_DELTA reply': fc.record({ turn: u64, totalLength: safeNumber }),
  SEAL: fc.record({
    context: u64,
    turn: u64,
    outcome: fc.constantFrom('complete', 'aborted'),
    totalLength: safeNumber,
    hash: maybeHash,
    reason: text,
  }),
  PATCH: fc.oneof(
    fc.record({
      turn: u64,
      expectSeq: fc.option(u64, { nil: undefined }),
      hash: someHash,
      payload,
      key,
    }),
    fc.record({
      turn: u64,
      expectSeq: fc.option(u64, { nil: undefined }),
      hash: fc.constant(undefined),
      payload: text.map((reason) => Buffer.from(reason)),
      key,
    }),
  ),
  'PATCH reply': fc.record({ turn: u64, seq: u64, hash: maybeHash }),
  CALL: fc.record({ method: text.map((name) => name.slice(0, 20)), body }),
  'CALL reply': body,
  STREAM: fc.oneof(
    fc.record({ kind: fc.constant('item'), body }),
    fc.record({ kind: fc.constant('end') }),
    fc.record({ kind: fc.constant('error'), error }),
  ),
  ERROR: error,
};

it('has values for every message', () => {
  expect(Object.keys(VALUES).toSorted()).toEqual([...MESSAGES.keys()].toSorted());
});

it.each(Object.entries(VALUES))('brings %s across', (name, values) => {
  const { type, encode, decode, flagsOf } = messageNamed(name);
  fc.assert(
    fc.property(values, reqId, fc.integer({ min: 1, max: 5000 }), (value, id, chunk) => {
      const sent = encodeFrame(type, flagsOf(value), id, ...encode(value));
      const reader = new FrameReader(FRAME_PAYLOAD_MAX);
      for (let at = 0; at < sent.length; at += chunk) reader.push(sent.subarray(at, at + chunk));
      const frame = reader.next();
      if (frame?.kind !== 'frame') throw new Error('no frame');
      expect(decode(frame.payload, frame.flags)).toEqual(value);
      expect([frame.type, frame.reqId, reader.next()]).toEqual([type, id, undefined]);
    }),
    { numRuns: 60 },
  );
});
