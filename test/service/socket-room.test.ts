import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import type { Hash } from '../../src/base/brand.ts';
import { ByteBudget } from '../../src/server/memory/byte-budget.ts';
import type { CallHandler, CallTable } from '../../src/server/calls/call-handler.ts';
import { toCall } from '../../src/wire/call-values.ts';
import { encodeCallReply } from '../../src/wire/call.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { serveHttp } from './http-rig.ts';
import { SocketPeer } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import type { SocketServer } from './socket-server.ts';
import { callOf } from './socket-verbs.ts';
import { encodeGetBlob, encodePutBlob } from '../wire/cxdb-client.ts';

// Replies of all connections share one room: reads wait for it, and a client that takes nothing must go.

vi.setConfig({ testTimeout: 60_000 });

const MIB = 1024 * 1024;
/** More than the operating system takes for a client that does not read. */
const REPLY_BYTES = 16 * MIB;

async function open(server: SocketServer): Promise<SocketPeer> {
  const peer = await SocketPeer.openQuipu(server.port);
  onTestFinished(() => peer.close());
  return peer;
}

/** A server with room for one such reply, the peer that put the blob, and the blob. */
async function start(): Promise<{ server: SocketServer; budget: ByteBudget; hash: Hash }> {
  const budget = new ByteBudget(Infinity, MIB);
  const server = await startSocketServer({ budget });
  onTestFinished(() => server.close(0));
  const bytes = randomBytes(REPLY_BYTES);
  const hash = hashBytes(bytes);
  const writer = await open(server);
  await writer.must(MessageType.PUT_BLOB, encodePutBlob({ hash, bytes }));
  return { server, budget, hash };
}

/** Fewer bytes would only make room in the buffers of the operating system. */
function take(socket: Socket, bytes: number): Promise<void> {
  const enough = socket.bytesRead + bytes;
  return new Promise((resolve) => {
    const look = (): void => {
      if (socket.bytesRead < enough && !socket.destroyed) return;
      socket.off('data', look).off('close', look).pause();
      resolve();
    };
    socket.on('data', look).on('close', look).resume();
  });
}

describe('a full room', () => {
  it('makes reads wait until a client that takes nothing is cut off', async () => {
    const { server, budget, hash } = await start();
    const [idle, other] = [await open(server), await open(server)];
    idle.socket.pause();
    idle.request(MessageType.GET_BLOB, encodeGetBlob(hash));
    await vi.waitFor(() => expect(budget.held).toBeGreaterThan(MIB), 20_000);
    const reply = await other.must(MessageType.GET_BLOB, encodeGetBlob(hash));
    expect(reply).toHaveLength(4 + REPLY_BYTES);
    idle.socket.resume();
    await idle.ended();
    await vi.waitFor(() => expect(budget.held).toBe(0), 20_000);
  });

  it(
    'cuts off nobody who takes a little',
    undisturbed(500, async () => {
      const { server, budget, hash } = await start();
      const [slow, other] = [await open(server), await open(server)];
      slow.socket.pause();
      slow.request(MessageType.GET_BLOB, encodeGetBlob(hash));
      await vi.waitFor(() => expect(budget.held).toBeGreaterThan(MIB), 20_000);
      const replied = other.must(MessageType.GET_BLOB, encodeGetBlob(hash));
      replied.catch(() => undefined);
      // Longer than the patience for a client that takes nothing.
      for (let piece = 0; piece < 8; piece += 1) {
        await sleep(600);
        await take(slow.socket, MIB);
      }
      slow.socket.resume();
      expect((await slow.next()).payload).toHaveLength(4 + REPLY_BYTES);
      expect(await replied).toHaveLength(4 + REPLY_BYTES);
    }),
  );
});

describe('streams of large items', () => {
  const STREAMS = 6;

  interface Counted {
    readonly made: number;
    readonly taken: number;
  }

  /** A call that gives one large item to each stream, to all at the same moment; counts the items that are encoded. */
  function largeCall(): { calls: CallTable; made: () => number; ring: () => void } {
    const bytes = randomBytes(REPLY_BYTES);
    const bell = new AbortController();
    const rung = once(bell.signal, 'abort');
    let made = 0;
    const item = {
      get bytes() {
        made += 1;
        return bytes;
      },
    };
    async function* run(): AsyncGenerator<unknown> {
      await rung;
      yield item;
    }
    const handler: CallHandler = { kind: 'stream', needs: 'read', run };
    return { calls: new Map([['large', handler]]), made: () => made, ring: () => bell.abort() };
  }

  /** The number of items that are made while nobody takes any: at least so many, and a while later. */
  async function itemsMade(made: () => number, ring: () => void, least: number): Promise<number> {
    ring();
    await vi.waitFor(() => expect(made()).toBeGreaterThanOrEqual(least), 20_000);
    await sleep(500);
    return made();
  }

  async function overSockets(budget: ByteBudget, least: number): Promise<Counted> {
    const { calls, made, ring } = largeCall();
    const server = await startSocketServer({ budget, calls });
    onTestFinished(() => server.close(0));
    const peers = await Promise.all(Array.from({ length: STREAMS / 2 }, () => open(server)));
    for (const peer of peers) {
      for (let n = 0; n < 2; n += 1) await peer.must(...callOf('large'));
      peer.socket.pause();
    }
    const count = await itemsMade(made, ring, least);
    let taken = 0;
    const take = async (peer: SocketPeer): Promise<void> => {
      peer.socket.resume();
      for (let ends = 0; ends < 2;) {
        const { payload } = await peer.next();
        if (payload.length > REPLY_BYTES) taken += 1;
        else ends += 1;
      }
    };
    await Promise.all(peers.map(take));
    return { made: count, taken };
  }

  async function overHttp(budget: ByteBudget, least: number): Promise<Counted> {
    const { calls, made, ring } = largeCall();
    const { url } = await serveHttp({ budget, calls });
    const body = Buffer.concat(encodeCallReply(toCall([])));
    const answers = await Promise.all(
      Array.from({ length: STREAMS }, () =>
        fetch(`${url}/v1/call/large`, { method: 'POST', body }),
      ),
    );
    const count = await itemsMade(made, ring, least);
    const sizes = await Promise.all(
      answers.map(async (one) => (await one.arrayBuffer()).byteLength),
    );
    return { made: count, taken: sizes.filter((size) => size > REPLY_BYTES).length };
  }

  it.each([
    ['the binary protocol', overSockets],
    ['HTTP', overHttp],
  ])('are made when there is room, over %s', async (_, over) => {
    const { made, taken } = await over(new ByteBudget(Infinity, MIB), 1);
    expect(made).toBeLessThanOrEqual(2);
    expect(taken).toBe(STREAMS);
  });

  it.each([
    ['the binary protocol', overSockets],
    ['HTTP', overHttp],
  ])('are noticed when there is no bound, over %s', async (_, over) => {
    const { made } = await over(new ByteBudget(Infinity, Infinity), 3);
    expect(made).toBeGreaterThan(2);
  });
});
