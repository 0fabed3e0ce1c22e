import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { hashBytes } from '../../src/base/hash.ts';
import { encodeFrame, toReqId } from '../../src/wire/frame.ts';
import { FRAME_PAYLOAD_MAX } from '../../src/wire/limits.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { encodeCall } from '../../src/wire/call.ts';
import { encodeHello, helloMeta } from '../../src/wire/hello.ts';
import { FloodServer, MIB, PULSE_MS_MAX, pageArguments } from './flood-rig.ts';
import { SocketPeer } from './socket-peer.ts';
import { append, appendOf, createContext, lastOf } from './socket-verbs.ts';
import { encodeGetBlob, encodePutBlob } from '../wire/cxdb-client.ts';

// What floods may cost: a bounded amount of the server's memory, and its other clients nothing they notice.

/** One client of 64 MiB at most in requests, as much in replies, and room for the collector to be late. */
const GROWTH_MAX = 150 * MIB;
/** Unless the machine is so slow, or does so much else, that a hundred appends in a row take a tenth of it. */
const MEDIAN_MS_MAX = 200;
const BURSTS_MAX = 10;
/** Replies that wait: 128 MiB, those that are being made, and room for the collector to be late. */
const REPLIES_MAX = 320 * MIB;
const READERS = 30;
const LARGE_BYTES = 16 * MIB;

vi.setConfig({ testTimeout: 120_000 });

let server: FloodServer;
let neighbour: SocketPeer;

beforeAll(async () => {
  server = await FloodServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());
beforeEach(async () => {
  neighbour = await SocketPeer.openQuipu(server.ports.port);
});
afterEach(() => {
  neighbour.close();
  server.cut();
});

function floodFrom(count: number, to = server.ports.port): Promise<Socket[]> {
  return server.connect(count, '', to);
}

/** The median time of an append by a well-behaved neighbour, while `until` has not come. */
async function medianDuring(until: Promise<unknown>): Promise<number> {
  const context = await createContext(neighbour);
  const times: number[] = [];
  let isOver = false;
  void until.finally(() => {
    isOver = true;
  });
  while (!isOver || times.length < 20) {
    const start = performance.now();
    await append(neighbour, context, `${times.length}`);
    times.push(performance.now() - start);
    await sleep(2);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
}

/** How long a hundred appends of the neighbour take while nobody else asks for anything. */
async function timeOfBurst(): Promise<number> {
  const context = await createContext(neighbour);
  const start = performance.now();
  for (let index = 0; index < 100; index += 1) {
    neighbour.request(...appendOf(context, Buffer.alloc(10_240, index)));
  }
  for (let index = 0; index < 100; index += 1) await neighbour.next();
  return performance.now() - start;
}

/** What a flood did to others: nothing, if all is well. */
async function harmOf(flood: () => Promise<unknown>): Promise<string[]> {
  const burstMs = await timeOfBurst();
  const before = (await server.look()).rss;
  const median = await medianDuring(flood());
  const growth = (await server.look()).rss - before;
  const medianMax = Math.max(MEDIAN_MS_MAX, BURSTS_MAX * burstMs);
  return [
    ...(growth < GROWTH_MAX ? [] : [`the server grew by ${Math.round(growth / MIB)} MiB`]),
    ...(median < medianMax ? [] : [`an append took ${Math.round(median)} ms`]),
  ];
}

it('2,000 idle connections', async () => {
  expect(await harmOf(() => floodFrom(2000))).toEqual([]);
  // Those that the operating system has taken on its behalf still have to be accepted.
  const expectAll = async (): Promise<void> =>
    expect((await server.look()).connections).toBeGreaterThan(2000);
  await vi.waitFor(expectAll, { timeout: 45_000 });
});

it('10,000 pipelined requests for large pages, whose replies nobody reads', async () => {
  const context = await createContext(neighbour);
  for (let index = 0; index < 64; index += 1) {
    await append(neighbour, context, Buffer.alloc(10_240, index));
  }
  const [type, parts] = lastOf(context, 64);
  const frame = encodeFrame(type, 0, toReqId(1n), ...parts);
  const harm = await harmOf(async () => {
    const [socket] = await floodFrom(1);
    for (let index = 0; index < 10_000; index += 1) socket!.write(frame);
    await sleep(500);
  });
  expect(harm).toEqual([]);
});

it('10,000 pipelined appends, whose replies nobody reads', async () => {
  const context = await createContext(neighbour);
  const [type, parts] = appendOf(context, Buffer.alloc(10_240));
  const frame = encodeFrame(type, 0, toReqId(1n), ...parts);
  const harm = await harmOf(async () => {
    const [socket] = await floodFrom(1);
    for (let index = 0; index < 10_000; index += 1) socket!.write(frame);
    await sleep(500);
  });
  expect(harm).toEqual([]);
});

it('200 connections that announce the largest frame and send a little of it', async () => {
  const header = Buffer.from(encodeFrame(MessageType.PUT_BLOB, 0, toReqId(1n)));
  header.writeUInt32LE(FRAME_PAYLOAD_MAX);
  const harm = await harmOf(async () => {
    const sockets = await floodFrom(200);
    for (const socket of sockets) socket.write(Buffer.concat([header, Buffer.alloc(10_000)]));
    await sleep(300);
  });
  expect(harm).toEqual([]);
});

it('500 connections with a wrong token, or with none and a large frame', async () => {
  const wrong = Buffer.from('{"token":"bad","quipu":1}');
  const head = Buffer.from([1, 0, 0, 0, wrong.length, 0, 0, 0]);
  const hello = encodeFrame(MessageType.HELLO, 0, toReqId(1n), head, wrong);
  const header = Buffer.from(encodeFrame(MessageType.PUT_BLOB, 0, toReqId(1n)));
  header.writeUInt32LE(FRAME_PAYLOAD_MAX);
  const harm = await harmOf(async () => {
    const sockets = await floodFrom(500, server.ports.guardedPort);
    for (const [index, socket] of sockets.entries()) {
      socket.on('end', () => socket.end()).resume();
      socket.write(index % 2 === 0 ? hello : Buffer.concat([header, Buffer.alloc(100_000)]));
    }
    // A reset is one way to be shown the door: `once` would take it for a failure.
    const shut = sockets
      .filter((socket) => !socket.closed)
      .map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
    await Promise.all(shut);
  });
  expect(harm).toEqual([]);
});

/** Has many ask for a large blob and take nothing of it. Returns what the server occupied before. */
async function askForLargeReplies(to: FloodServer, peer: SocketPeer): Promise<number> {
  const bytes = randomBytes(LARGE_BYTES);
  const hash = hashBytes(bytes);
  await peer.must(MessageType.PUT_BLOB, encodePutBlob({ hash, bytes }));
  const before = (await to.look()).rss;
  const ask = encodeFrame(MessageType.GET_BLOB, 0, toReqId(1n), ...encodeGetBlob(hash));
  for (const socket of await to.connect(READERS, '', to.ports.port)) socket.write(ask);
  await sleep(500);
  return before;
}

it('30 connections that ask for a large blob each and take nothing', async () => {
  await using bounded = await FloodServer.start();
  const reader = await SocketPeer.openQuipu(bounded.ports.port);
  onTestFinished(() => reader.close());
  const context = await createContext(reader);
  await append(reader, context, 'small');
  // The server has learned by now that the replies of this connection are small.
  for (let index = 0; index < 20; index += 1) await reader.must(...lastOf(context, 1));
  const before = await askForLargeReplies(bounded, reader);
  expect((await bounded.settled()).peak - before).toBeLessThan(REPLIES_MAX);
  const startedMs = performance.now();
  await reader.must(...lastOf(context, 1));
  expect(performance.now() - startedMs).toBeLessThan(PULSE_MS_MAX);
});

it('40 connections that call for large pages and take nothing', async () => {
  await using bounded = await FloodServer.start();
  const path = await bounded.fill(16, 1_000_000);
  const before = (await bounded.look()).rss;
  const hello = { version: 1, tag: 'test', meta: helloMeta({ token: undefined, quipu: true }) };
  const call = encodeCall({ method: 'contexts.page', body: pageArguments(path, 16) });
  const words = Buffer.concat([
    encodeFrame(MessageType.HELLO, 0, toReqId(1n), ...encodeHello(hello)),
    ...[2n, 3n, 4n].map((id) => encodeFrame(MessageType.CALL, 0, toReqId(id), ...call)),
  ]);
  const [reader] = await bounded.connect(1, words, bounded.ports.port);
  let taken = 0;
  reader!.on('data', ({ length }: Buffer) => (taken += length)).resume();
  await vi.waitFor(() => expect(taken).toBeGreaterThan(48_000_000), { timeout: 45_000 });
  await bounded.connect(READERS, words, bounded.ports.port);
  await sleep(500);
  expect((await bounded.settled()).peak - before).toBeLessThan(REPLIES_MAX);
});

it('12 connections that ask for a large blob each and take it all get it', async () => {
  const bytes = randomBytes(LARGE_BYTES);
  const hash = hashBytes(bytes);
  await neighbour.must(MessageType.PUT_BLOB, encodePutBlob({ hash, bytes }));
  const get = async (): Promise<number> => {
    const peer = await SocketPeer.openQuipu(server.ports.port);
    const reply = await peer.must(MessageType.GET_BLOB, encodeGetBlob(hash));
    peer.close();
    return reply.length;
  };
  const lengths = await Promise.all(Array.from({ length: 12 }, get));
  expect(lengths).toEqual(Array.from({ length: 12 }, () => 4 + LARGE_BYTES));
});

it('are noticed when a server has no bounds', async () => {
  await using boundless = await FloodServer.start('boundless');
  const peer = await SocketPeer.openQuipu(boundless.ports.port);
  onTestFinished(() => peer.close());
  const before = await askForLargeReplies(boundless, peer);
  const growth = async (): Promise<number> => (await boundless.look()).peak - before;
  await expect.poll(growth, { timeout: 45_000 }).toBeGreaterThan(REPLIES_MAX);
});
