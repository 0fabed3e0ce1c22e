import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { encodeFrame, toReqId, FrameReader } from './frame.ts';
import type { FrameEvent } from './frame.ts';
import { FRAME_PAYLOAD_MAX, FRAME_PAYLOAD_MAX_UNKNOWN } from './limits.ts';

const REQ = toReqId(0xfedc_ba98_7654_3210n);

function frame(type: number, payload: Uint8Array): Buffer {
  return Buffer.from(encodeFrame(type, 0, REQ, payload));
}

function readAll(reader: FrameReader): FrameEvent[] {
  const events: FrameEvent[] = [];
  for (let event = reader.next(); event !== undefined; event = reader.next()) events.push(event);
  return events;
}

/** Texts compare much faster than long arrays. */
function toText(event: FrameEvent): string {
  const rest = event.kind === 'frame' ? event.payload.toString('hex') : event.length;
  return [event.kind, event.type, event.flags, event.reqId.toString('hex'), rest].join(' ');
}

const STREAM = Buffer.concat([
  frame(1, Buffer.alloc(0)),
  frame(5, Buffer.from('payload')),
  frame(255, Buffer.alloc(9000, 7)),
  frame(4, Buffer.alloc(0)),
]);

function readWhole(): FrameEvent[] {
  const reader = new FrameReader(FRAME_PAYLOAD_MAX);
  reader.push(STREAM);
  return readAll(reader);
}

/** Memory that is held counts, and not garbage that nobody has collected yet. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

describe('FrameReader', () => {
  it('reads the frames of one chunk', () => {
    expect(readWhole()).toEqual([
      { kind: 'frame', type: 1, flags: 0, reqId: REQ, payload: Buffer.alloc(0) },
      { kind: 'frame', type: 5, flags: 0, reqId: REQ, payload: Buffer.from('payload') },
      { kind: 'frame', type: 255, flags: 0, reqId: REQ, payload: Buffer.alloc(9000, 7) },
      { kind: 'frame', type: 4, flags: 0, reqId: REQ, payload: Buffer.alloc(0) },
    ]);
  });

  it('reads the same when large payloads are read into their own memory', () => {
    const large = Buffer.from(Array.from({ length: 200_000 }, (_, n) => n % 251));
    const stream = Buffer.concat([STREAM, frame(6, large), STREAM, frame(7, large)]);
    for (const size of [999, 40_000, 131_072]) {
      const reader = new FrameReader(FRAME_PAYLOAD_MAX, { own: true });
      const used = Buffer.alloc(size);
      const events: FrameEvent[] = [];
      let rooms = 0;
      for (let at = 0; at < stream.length;) {
        const room = reader.room();
        if (room !== undefined) rooms += 1;
        const into = (room ?? used).subarray(0, size);
        const length = stream.copy(into, 0, at);
        reader.push(into.subarray(0, length));
        events.push(...readAll(reader));
        at += length;
      }
      const whole = new FrameReader(FRAME_PAYLOAD_MAX);
      whole.push(stream);
      expect(events.map(toText)).toEqual(readAll(whole).map(toText));
      expect(rooms).toBeGreaterThan(0);
    }
  });

  it('gives no room to one that shares its chunks, and none for little', () => {
    const large = frame(6, Buffer.alloc(200_000));
    const sharing = new FrameReader(FRAME_PAYLOAD_MAX);
    sharing.push(large.subarray(0, 1000));
    expect([sharing.next(), sharing.room()]).toEqual([undefined, undefined]);
    const own = new FrameReader(FRAME_PAYLOAD_MAX, { own: true });
    own.push(large.subarray(0, 199_000));
    expect([own.next(), own.room()]).toEqual([undefined, undefined]);
  });

  it('reads the same whatever the size of the chunks', () => {
    for (const size of [1, 2, 3, 5, 7, 15, 16, 17, 100, 4095, 4096, 4097, 9016]) {
      const reader = new FrameReader(FRAME_PAYLOAD_MAX);
      const events: FrameEvent[] = [];
      for (let at = 0; at < STREAM.length; at += size) {
        reader.push(STREAM.subarray(at, at + size));
        events.push(...readAll(reader));
      }
      expect(events.map(toText)).toEqual(readWhole().map(toText));
    }
  });

  it('lets the memory of chunks be used again when payloads have their own', () => {
    for (const size of [1, 16, 100, 4096, 9100]) {
      const reader = new FrameReader(FRAME_PAYLOAD_MAX, { own: true });
      const events: FrameEvent[] = [];
      const reused = Buffer.alloc(size);
      for (let at = 0; at < STREAM.length; at += size) {
        reader.push(reused.subarray(0, STREAM.copy(reused, 0, at, at + size)));
        events.push(...readAll(reader));
        reused.fill(0xff);
      }
      expect(events.map(toText)).toEqual(readWhole().map(toText));
    }
  });

  it('reads the same when a header is split at any byte', () => {
    for (let split = 0; split <= 40; split += 1) {
      const reader = new FrameReader(FRAME_PAYLOAD_MAX);
      reader.push(STREAM.subarray(0, split));
      const events = readAll(reader);
      expect(reader.isMidFrame).toBe(split !== 0 && split !== 16 && split !== 39);
      reader.push(STREAM.subarray(split));
      expect([...events, ...readAll(reader)].map(toText)).toEqual(readWhole().map(toText));
      expect(reader.isMidFrame).toBe(false);
    }
  });

  it('reports a payload over the limit, skips it and goes on', () => {
    const reader = new FrameReader(7);
    for (const byte of STREAM) reader.push(Buffer.from([byte]));
    expect(readAll(reader)).toEqual([
      ...readWhole().slice(0, 2),
      { kind: 'oversized', type: 255, flags: 0, reqId: REQ, length: 9000 },
      ...readWhole().slice(3),
    ]);
  });

  it('asks the limit when the header is complete', () => {
    const reader = new FrameReader(FRAME_PAYLOAD_MAX_UNKNOWN);
    const large = frame(5, Buffer.alloc(FRAME_PAYLOAD_MAX_UNKNOWN + 1));
    reader.push(large.subarray(0, 15));
    expect(reader.next()).toBeUndefined();
    reader.maxPayload = FRAME_PAYLOAD_MAX;
    reader.push(large.subarray(15));
    expect(reader.next()?.kind).toBe('frame');
  });

  it('takes the largest length and not one byte more', () => {
    for (const [length, kind] of [
      [FRAME_PAYLOAD_MAX, undefined],
      [FRAME_PAYLOAD_MAX + 1, 'oversized'],
      [0xffff_ffff, 'oversized'],
    ] as const) {
      const header = frame(5, Buffer.alloc(0));
      header.writeUInt32LE(length, 0);
      const reader = new FrameReader(FRAME_PAYLOAD_MAX);
      reader.push(header);
      expect(reader.next()?.kind).toBe(kind);
      expect(reader.isMidFrame).toBe(true);
    }
  });

  it('takes memory for what arrived, not for what was announced', () => {
    let finished = 0;
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 200 }, () => new FrameReader(FRAME_PAYLOAD_MAX));
    const header = frame(5, Buffer.alloc(0));
    header.writeUInt32LE(FRAME_PAYLOAD_MAX, 0);
    for (const reader of readers) {
      reader.push(header);
      for (let sent = 0; sent < 3000; sent += 1) {
        reader.push(Buffer.from([sent]));
        finished += reader.next() === undefined ? 0 : 1;
      }
    }
    collectGarbage();
    const grown = process.memoryUsage().arrayBuffers - before;
    expect(finished).toBe(0);
    expect(readers.every((reader) => reader.isMidFrame)).toBe(true);
    expect(grown).toBeLessThan(200 * 4096 * 6);
  });

  it('keeps a payload that comes in pieces apart from the next one', () => {
    const reader = new FrameReader(FRAME_PAYLOAD_MAX);
    const chunks = [frame(5, Buffer.alloc(5000, 1)), frame(5, Buffer.alloc(5000, 2))];
    const payloads = chunks.map((chunk) => {
      reader.push(chunk.subarray(0, 100));
      expect(reader.next()).toBeUndefined();
      reader.push(chunk.subarray(100));
      const event = reader.next();
      return event?.kind === 'frame' ? event.payload : undefined;
    });
    expect(payloads).toEqual([Buffer.alloc(5000, 1), Buffer.alloc(5000, 2)]);
  });
});

it('refuses to write a frame that no peer would read', () => {
  const half = Buffer.alloc(FRAME_PAYLOAD_MAX / 2);
  expect(encodeFrame(5, 0, REQ, half, half).length).toBe(FRAME_PAYLOAD_MAX + 16);
  expect(() => encodeFrame(5, 0, REQ, half, half, Buffer.alloc(1))).toThrow(
    expect.objectContaining({ code: 'TOO_LARGE' }),
  );
});
