import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { encodeFrame, toReqId } from '../../src/wire/frame.ts';
import { FRAME_PAYLOAD_MAX } from '../../src/wire/limits.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { SocketPeer, errorIn } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import type { SocketServer } from './socket-server.ts';
import { append, appendOf, createContext, last, lastOf, textsOf } from './socket-verbs.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { encodeCtxCreate, encodeGetHead } from '../wire/cxdb-client.ts';

let server: SocketServer;
/** Does not wait long for the rest of a frame. */
let hasty: SocketServer;
beforeAll(async () => {
  server = await startSocketServer({ limits: { discardMs: 300 } });
  hasty = await startSocketServer({ limits: { stallMs: 200 } });
});
afterAll(() => Promise.all([server.close(1000), hasty.close(1000)]));

function headerOf(length: number, type = MessageType.GET_BLOB): Buffer {
  const header = Buffer.from(encodeFrame(type, 0, toReqId(5n)));
  header.writeUInt32LE(length);
  return header;
}

/** A connection that still answers is one that survived. */
async function expectAlive(peer: SocketPeer): Promise<void> {
  expect(await createContext(peer)).toBeGreaterThan(0n);
}

describe('the length of a frame', () => {
  it('may be 0', async () => {
    const peer = await SocketPeer.open(server.port);
    expect(await peer.refused(MessageType.GET_HEAD, [])).toMatchObject({ code: 422 });
    const hello = await peer.ask(MessageType.HELLO, []);
    expect(hello.payload.length).toBe(10);
    await expectAlive(peer);
    peer.close();
  });

  it('may be the maximum, and no more', async () => {
    const peer = await SocketPeer.open(server.port);
    const largest = Buffer.alloc(FRAME_PAYLOAD_MAX);
    expect(await peer.refused(MessageType.GET_BLOB, [largest])).toMatchObject({ code: 422 });
    await expectAlive(peer);
    peer.send(headerOf(FRAME_PAYLOAD_MAX + 1), Buffer.alloc(1_000_000));
    const refused = await peer.next();
    expect(errorIn(refused)).toMatchObject({ code: 413 });
    expect(refused.reqId).toEqual(toReqId(5n));
    await peer.ended();
  });

  it.each([FRAME_PAYLOAD_MAX + 1, 2 ** 32 - 1])(
    'of %i bytes is refused although they keep coming',
    async (length) => {
      const peer = await SocketPeer.open(server.port);
      peer.request(MessageType.CTX_CREATE, encodeCtxCreate(0n));
      peer.send(headerOf(length));
      const flood = setInterval(() => peer.send(Buffer.alloc(100_000)), 5);
      // What came before it is answered first.
      expect((await peer.next()).type).toBe(MessageType.CTX_CREATE);
      expect(await peer.error()).toMatchObject({ code: 413 });
      await peer.ended();
      clearInterval(flood);
    },
  );
});

describe('frames in pieces', () => {
  it('are read whatever they are cut into', async () => {
    const peer = await SocketPeer.open(server.port);
    const context = await createContext(peer);
    const [type, parts] = appendOf(context, 'payload');
    const frame = encodeFrame(type, 0, toReqId(2n ** 64n - 1n), ...parts);
    for (let cut = 1; cut < 40; cut += 1) {
      peer.send(frame.subarray(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      peer.send(frame.subarray(cut));
      expect((await peer.next()).reqId).toEqual(toReqId(2n ** 64n - 1n));
    }
    // As the Rust client of cxdb writes: 4, 2, 2 and 8 bytes, then the payload.
    for (const [start, end] of [
      [0, 4],
      [4, 6],
      [6, 8],
      [8, 16],
      [16, frame.length],
    ] as const) {
      peer.send(frame.subarray(start, end));
      await sleep(1);
    }
    expect((await peer.next()).type).toBe(MessageType.APPEND_TURN);
    expect((await last(peer, context, 100)).turns.length).toBe(40);
    peer.close();
  });

  it(
    'may take their time, and cost nobody else any',
    undisturbed(100, async () => {
      const slow = await SocketPeer.open(hasty.port);
      const neighbour = await SocketPeer.open(hasty.port);
      onTestFinished(() => [slow, neighbour].forEach((peer) => peer.close()));
      const frame = encodeFrame(MessageType.CTX_CREATE, 0, toReqId(1n), ...encodeCtxCreate(0n));
      const dripping = (async () => {
        for (const byte of frame) {
          slow.send(Buffer.from([byte]));
          await sleep(20);
        }
      })();
      let isOver = false;
      const answer = slow.next();
      void answer.catch(() => undefined).finally(() => (isOver = true));
      const latencies: number[] = [];
      while (!isOver) {
        const start = performance.now();
        await neighbour.must(MessageType.CTX_CREATE, encodeCtxCreate(0n));
        latencies.push(performance.now() - start);
        await sleep(5);
      }
      expect((await answer).type).toBe(MessageType.CTX_CREATE);
      await dripping;
      latencies.sort((a, b) => a - b);
      // Who had to wait for the whole frame would wait for half a second.
      expect(latencies[Math.floor(latencies.length / 2)]).toBeLessThan(200);
    }),
  );

  it('that stop in the middle are cut off; an idle connection is not', async () => {
    const [stuck, idle] = [await SocketPeer.open(hasty.port), await SocketPeer.open(hasty.port)];
    stuck.send(headerOf(100), Buffer.alloc(50));
    await stuck.ended();
    await sleep(200);
    expect(await createContext(idle)).toBeGreaterThan(0n);
    idle.close();
  });
});

describe('requests that make no sense', () => {
  it('are answered one by one, and the connection goes on', async () => {
    const peer = await SocketPeer.open(server.port);
    for (const type of [0, 12, 31, 39, 40, 200, 255, 65_535]) {
      expect(await peer.refused(type, [Buffer.alloc(10)])).toMatchObject({
        code: 422,
        detail: 'unknown msg_type',
      });
    }
    for (let type = 2; type <= 38; type += 1) {
      const reply = await peer.ask(type, [Buffer.alloc(type === 9 ? 31 : 3, 0xff)]);
      expect(errorIn(reply)).toMatchObject({ code: 422, quipu: undefined });
    }
    expect(await peer.refused(MessageType.HELLO, [Buffer.alloc(7)])).toMatchObject({ code: 422 });
    await expectAlive(peer);
    peer.close();
  });

  it('among good ones get their replies in order', async () => {
    const peer = await SocketPeer.open(server.port);
    const context = await createContext(peer);
    const asked: bigint[] = [];
    for (let index = 0; index < 200; index += 1) {
      const kind = index % 4;
      if (kind === 0) asked.push(peer.request(...appendOf(context, `${index}`)));
      else if (kind === 1) asked.push(peer.request(99, [Buffer.alloc(index)]));
      else if (kind === 2) asked.push(peer.request(...lastOf(context, 3)));
      else asked.push(peer.request(MessageType.GET_HEAD, encodeGetHead(77_777n)));
    }
    const replied: Buffer[] = [];
    for (const _ of asked) replied.push((await peer.next()).reqId);
    expect(replied).toEqual(asked.map(toReqId));
    peer.close();
  });

  it('never hurt the store or anyone else', async () => {
    const neighbour = await SocketPeer.open(server.port);
    const context = await createContext(neighbour);
    let seed = 1;
    const random = (): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed;
    };
    for (let index = 0; index < 40; index += 1) {
      const peer = await SocketPeer.open(server.port);
      const noise = Buffer.from(Array.from({ length: 2000 }, () => random() % 256));
      // Often a frame that would be whole, with noise in it.
      if (index % 2 === 0) noise.writeUInt32LE(random() % 100);
      if (index % 3 === 0) noise.writeUInt16LE(random() % 40, 4);
      peer.send(noise);
      await append(neighbour, context, `${index}`);
      peer.close();
    }
    expect(textsOf(await last(neighbour, context, 40))).toEqual(
      Array.from({ length: 40 }, (_, index) => `${index}`),
    );
    neighbour.close();
  });
});

describe('a peer that goes', () => {
  it('after its last request still gets the replies', async () => {
    const peer = await SocketPeer.open(server.port);
    const context = await createContext(peer);
    for (let index = 0; index < 20; index += 1) peer.request(...appendOf(context, `${index}`));
    peer.socket.end();
    for (let index = 0; index < 20; index += 1) {
      expect((await peer.next()).type).toBe(MessageType.APPEND_TURN);
    }
    await peer.ended();
  });

  it('in the middle of a frame is forgotten', async () => {
    // Those of the tests before may still be on their way out.
    await vi.waitFor(() => expect(server.server.connections).toBe(0), PATIENCE);
    for (const how of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const peer = await SocketPeer.open(server.port);
      await expectAlive(peer);
      peer.send(headerOf(1000), Buffer.alloc(10));
      await sleep(10);
      peer.socket[how]();
      await peer.ended();
    }
    await vi.waitFor(() => expect(server.server.connections).toBe(0), PATIENCE);
  });
});

describe('clients of cxdb', () => {
  it('need no HELLO, read pages without payloads, and get plain errors', async () => {
    const peer = await SocketPeer.open(server.port);
    const context = await createContext(peer);
    await append(peer, context, '');
    const [type, parts] = lastOf(context, 10, { payload: false });
    const page = await peer.must(type, parts);
    // One record, whose payload has a length of 0, and the tail behind it.
    expect(page.length).toBe(4 + 76 + 'test.turn'.length + 20);
    const missing = await peer.ask(MessageType.GET_HEAD, encodeGetHead(424_242n));
    expect(missing.payload.toString('latin1')).toBe('\x94\x01\0\0\x07\0\0\0context');
    peer.close();
  });
});
