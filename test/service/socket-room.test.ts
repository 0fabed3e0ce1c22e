import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import type { Hash } from '../../src/base/brand.ts';
import { ByteBudget } from '../../src/server/memory/byte-budget.ts';
import { encodeGetBlob, encodePutBlob } from '../../src/wire/cxdb/blob.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { SocketPeer } from './socket-peer.ts';
import { startSocketServer } from './socket-server.ts';
import type { SocketServer } from './socket-server.ts';

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
      // Longer than the patience for a client that takes nothing.
      for (let piece = 0; piece < 8; piece += 1) {
        await sleep(600);
        slow.socket.resume();
        await sleep(1);
        slow.socket.pause();
      }
      slow.socket.resume();
      expect((await slow.next()).payload).toHaveLength(4 + REPLY_BYTES);
      expect(await replied).toHaveLength(4 + REPLY_BYTES);
    }),
  );
});
