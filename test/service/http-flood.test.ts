import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { PATIENCE } from '../../src/testing/patience.ts';
import { encodeCallReply } from '../../src/wire/call.ts';
import { FloodServer, MIB, closed, getOf, pageArguments, PULSE_MS_MAX } from './flood-rig.ts';

// What clients that ask for much and take little may cost: a bounded amount of the server's memory, and the others
// nothing they notice. The long runs are in test/soak/hostile-clients.test.ts.

/** Room for answers, the cache of the store, and for the collector to be late. Without bounds it is many times that. */
const GROWTH_MAX = 250 * MIB;

vi.setConfig({ testTimeout: 120_000 });

let server: FloodServer;
/** Ten turns of a megabyte. */
let large: string;
let before: number;

beforeAll(async () => {
  server = await FloodServer.start();
  large = await server.fill(10, 1_000_000);
  before = (await server.look()).rss;
});
afterEach(() => server.cut());
afterAll(() => server[Symbol.asyncDispose]());

/** Since the store was filled: what a process has occupied at most only grows. */
async function growth(): Promise<number> {
  return (await server.settled()).peak - before;
}

it('40 connections that ask for two large pages at once, take nothing, and go', async () => {
  await server.connect(40, getOf(`${large}/turns`).repeat(2));
  expect(await server.pulseMs()).toBeLessThan(PULSE_MS_MAX);
  expect(await growth()).toBeLessThan(GROWTH_MAX);
  server.cut();
  expect(await server.pulseMs()).toBeLessThan(PULSE_MS_MAX);
});

it('40 event streams that nobody reads, with a request for a large page behind each', async () => {
  await server.connect(40, getOf(`${large}/events?payload=false`) + getOf(`${large}/turns`));
  expect(await server.pulseMs()).toBeLessThan(PULSE_MS_MAX);
  expect(await growth()).toBeLessThan(GROWTH_MAX);
});

it('40 event streams of large turns that nobody reads', async () => {
  await server.connect(40, getOf(`${large}/events`));
  expect(await server.pulseMs()).toBeLessThan(PULSE_MS_MAX);
  expect(await growth()).toBeLessThan(GROWTH_MAX);
});

it('40 connections that call for two large pages at once and take nothing', async () => {
  const body = Buffer.concat(encodeCallReply(pageArguments(large, 10)));
  const head = `POST /v1/call/contexts.page HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`;
  const call = Buffer.concat([Buffer.from(head), body]);
  const [reader] = await server.connect(1, call);
  let taken = 0;
  reader!.on('data', ({ length }: Buffer) => (taken += length)).resume();
  await expect.poll(() => taken, PATIENCE).toBeGreaterThan(10_000_000);
  await server.connect(40, Buffer.concat([call, call]));
  expect(await server.pulseMs()).toBeLessThan(PULSE_MS_MAX);
  expect(await growth()).toBeLessThan(GROWTH_MAX);
});

it('20 uploads that come at once, and break off', async () => {
  const head = 'PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 62914560\r\n\r\n';
  const sockets = await server.connect(20, head);
  const taken = sockets.map(
    (socket) => new Promise((done) => socket.write(randomBytes(4 * MIB), done)),
  );
  await Promise.all(taken);
  expect(await server.pulseMs()).toBeLessThan(PULSE_MS_MAX);
  expect(await growth()).toBeLessThan(GROWTH_MAX);
});

it('is measured without what the process that started it occupies', async () => {
  const held = Buffer.alloc(GROWTH_MAX, 1);
  await using fresh = await FloodServer.start();
  const { rss, peak, inherited } = await fresh.look();
  expect(peak - rss).toBeLessThan(GROWTH_MAX / 2);
  // The figure that is not used is wrong here, where there is a better one.
  const wrong = process.platform === 'linux' ? GROWTH_MAX / 2 : -Infinity;
  expect(inherited - rss).toBeGreaterThan(wrong);
  expect(held).toHaveLength(GROWTH_MAX);
});

it('is noticed when a server has no bounds', async () => {
  await using boundless = await FloodServer.start('boundless');
  const { rss } = await boundless.look();
  await boundless.connect(40, getOf('/').repeat(2));
  const grown = async (): Promise<number> => (await boundless.look()).peak - rss;
  await expect.poll(grown, PATIENCE).toBeGreaterThan(GROWTH_MAX);
});

it('20 connections that send a thousand requests in one breath', async () => {
  const sockets = await server.connect(20, getOf('/v1/events') + getOf('/').repeat(1000));
  await Promise.all(sockets.map(closed));
  expect(await server.pulseMs()).toBeLessThan(PULSE_MS_MAX);
  expect(await growth()).toBeLessThan(GROWTH_MAX);
});
