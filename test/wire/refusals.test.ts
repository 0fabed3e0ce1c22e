import { describe, expect, it } from 'vitest';
import { RAW_BYTES_MAX } from '../../src/wire/limits.ts';
import { codeOf } from './code-of.ts';
import { documentedFrames } from './documented-frames.ts';
import {
  APPEND,
  CREATED_AT,
  FS_ROOT,
  HELLO_HASH,
  MESSAGE_REC,
  MESSAGE_TURN,
} from './example-parts.ts';
import { messageNamed } from './messages.ts';

// What is whole and makes no sense, message by message.

const frames = documentedFrames();

/** What a message makes of a value that was encoded without asking whether it is right. */
function outcome(name: string, value: unknown): string {
  const { encode, decode, flagsOf } = messageNamed(name);
  return codeOf(() => decode(Buffer.concat(encode(value)), flagsOf(value)));
}

/** The same of a documented frame with some bytes of its payload changed. */
function changed(name: string, at: number, hex: string): string {
  const payload = Buffer.from(frames.get(name)!.subarray(16));
  payload.write(hex, at, 'hex');
  return codeOf(() => messageNamed(name).decode(payload, 0));
}

describe('a turn to append', () => {
  it('has a type and a key of 1,024 bytes at most', () => {
    const turn = { ...MESSAGE_TURN, type: 'é'.repeat(512) };
    expect(outcome('APPEND_TURN', { ...APPEND, turn })).toBe('none');
    const longer = { ...MESSAGE_TURN, type: `${turn.type}x` };
    expect(outcome('APPEND_TURN', { ...APPEND, turn: longer })).toBe('INVALID');
    expect(outcome('APPEND_TURN', { ...APPEND, key: Buffer.alloc(1024) })).toBe('none');
    expect(outcome('APPEND_TURN', { ...APPEND, key: Buffer.alloc(1025) })).toBe('INVALID');
  });

  it('is TOO_LARGE when the payload, or what it unpacks to, is over the limit', () => {
    const payload = Buffer.alloc(RAW_BYTES_MAX + 1);
    expect(outcome('APPEND_TURN', { ...APPEND, turn: { ...MESSAGE_TURN, payload } })).toBe(
      'TOO_LARGE',
    );
    expect(outcome('PUT_BLOB', { hash: HELLO_HASH, bytes: payload })).toBe('TOO_LARGE');
    const most = payload.subarray(1);
    expect(outcome('PUT_BLOB', { hash: HELLO_HASH, bytes: most })).toBe('none');
    const bomb = { ...MESSAGE_TURN, compression: 1, rawLength: RAW_BYTES_MAX + 1 };
    expect(outcome('APPEND_TURN', { ...APPEND, turn: bomb })).toBe('TOO_LARGE');
  });

  it('knows two compressions', () => {
    const turn = { ...MESSAGE_TURN, compression: 2 };
    expect(outcome('APPEND_TURN', { ...APPEND, turn })).toBe('INVALID');
  });

  it('has a type that is UTF-8', () => {
    expect(changed('APPEND_TURN', 20, 'ff')).toBe('INVALID');
  });
});

describe('a batch', () => {
  const items = (count: number): unknown => ({
    context: 1n,
    parent: 0n,
    items: Array.from({ length: count }, () => ({ turn: MESSAGE_TURN, fsRoot: undefined })),
    key: undefined,
    expectHead: false,
  });

  it('has 1 to 1,024 items', () => {
    expect(outcome('APPEND_BATCH', items(0))).toBe('INVALID');
    expect(outcome('APPEND_BATCH', items(1024))).toBe('none');
    expect(outcome('APPEND_BATCH', items(1025))).toBe('INVALID');
  });

  it('has no unknown flags on an item', () => {
    expect(changed('APPEND_BATCH', 20, '02')).toBe('INVALID');
  });
});

describe('other requests', () => {
  it('name a turn before which to read', () => {
    expect(changed('GET_BEFORE', 8, '00')).toBe('INVALID');
  });

  it('do not interrupt turns, which is for the server to say', () => {
    expect(changed('SEAL', 16, '02')).toBe('INVALID');
    expect(changed('SEAL', 16, '03')).toBe('INVALID');
  });

  it('patch with flags that exist, and hide without a payload', () => {
    expect(changed('PATCH', 8, '04')).toBe('INVALID');
    expect(changed('PATCH', 8, '01')).toBe('INVALID');
    expect(changed('PATCH', 20, '00'.repeat(32))).toBe('INVALID');
    const tombstone = { turn: 1n, expectSeq: undefined, hash: undefined, key: undefined };
    expect(outcome('PATCH', { ...tombstone, payload: Buffer.from([0xff]) })).toBe('INVALID');
  });

  it('want what exists', () => {
    expect(outcome('SUBSCRIBE', { context: 1n, after: 0n, want: 8 })).toBe('INVALID');
  });

  it('call methods with short names', () => {
    const body = { json: '{}', blobs: [] };
    expect(outcome('CALL', { method: 'm'.repeat(128), body })).toBe('none');
    expect(outcome('CALL', { method: 'm'.repeat(129), body })).toBe('INVALID');
  });

  it('announce no more byte arrays than the limit, small as they are', () => {
    const blobs = Array.from({ length: 65_537 }, () => Buffer.alloc(0));
    expect(outcome('CALL reply', { json: '{}', blobs: blobs.slice(1) })).toBe('none');
    expect(outcome('CALL reply', { json: '{}', blobs })).toBe('INVALID');
  });
});

describe('answers', () => {
  it('have kinds and outcomes that exist', () => {
    const { decode } = messageNamed('push');
    const push = (hex: string): string =>
      codeOf(() => decode(Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(200)]), 1));
    expect(['07', '08', '00'].map(push)).toEqual(['none', 'INVALID', 'INVALID']);
    const outcomes = ['02', '03'].map((hex) => push(`04000000${'00'.repeat(8)}${hex}`));
    expect(outcomes).toEqual(['none', 'INVALID']);
    expect(codeOf(() => messageNamed('STREAM').decode(Buffer.from('04000000', 'hex'), 1))).toBe(
      'INVALID',
    );
  });

  it('have records that are not compressed', () => {
    // After the count, 24 bytes, the type of 13, its version and the encoding.
    expect(changed('GET_LAST reply', 4 + 24 + 13 + 8, '01')).toBe('INVALID');
  });

  it('may have longer EXT rows one day, and never shorter ones', () => {
    const tail = Buffer.alloc(20);
    const row = Buffer.alloc(32, 0xff);
    row.writeBigUInt64LE(BigInt(CREATED_AT), 0);
    const { encode, decode } = messageNamed('GET_LAST reply');
    const page = { turns: [MESSAGE_REC], cursor: 0n, head: 0n, headDepth: 0, ext: undefined };
    const records = Buffer.concat(encode(page)).subarray(0, -tail.length);
    const withRows = (bytes: number): Buffer =>
      Buffer.concat([records, tail, Buffer.from([bytes, 0, 0, 0]), row.subarray(0, bytes)]);
    expect(decode(withRows(32), 0)).toMatchObject({ ext: [{ createdAt: CREATED_AT }] });
    expect(codeOf(() => decode(withRows(23), 0))).toBe('INVALID');
  });
});

it('asks for the hash of a root exactly when the flag says so', () => {
  const { encode, decode } = messageNamed('APPEND_TURN');
  const bytes = Buffer.concat(encode({ ...APPEND, fsRoot: FS_ROOT }));
  expect(decode(bytes, 0)).toMatchObject({ fsRoot: undefined });
  expect(decode(bytes, 1)).toMatchObject({ fsRoot: FS_ROOT });
  expect(codeOf(() => decode(bytes.subarray(0, -1), 1))).toBe('INVALID');
});
