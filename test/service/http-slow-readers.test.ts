import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { FloodServer, MIB, getOf, PULSE_MS_MAX } from './flood-rig.ts';

// What one event stream that nobody reads holds: a small amount, whatever it streams. The room for large events is
// shared by all of them.

const STREAMS = 120;
const USED_MAX = 40 * MIB + (STREAMS * MIB) / 4;
/** Enough for every stream to have as much as it gets. */
const FILLING_MS = 2500;

vi.setConfig({ testTimeout: 120_000 });

let server: FloodServer;

beforeAll(async () => {
  server = await FloodServer.start();
});
afterEach(() => server.cut());
afterAll(() => server[Symbol.asyncDispose]());

async function post(path: string, body?: unknown): Promise<{ id: string }> {
  const answer = await server.http('POST', path, body);
  if (answer.status !== 201) throw new Error(`${path} got ${answer.status}`);
  return (await answer.json()) as { id: string };
}

const long = (index: number, chars: number): string => `${index} `.padEnd(chars, 'x');

/** Fills a new place, and returns the address of its stream. */
const STREAMED: Record<string, () => Promise<string>> = {
  'a context of large turns': async () => `${await server.fill(5, 2 * MIB)}/events`,

  'a context of turns that are larger as values': async () => {
    const { id } = await post('/v1/contexts', {});
    const payload = Array.from({ length: 20_000 }, () => []);
    for (let n = 0; n < 80; n += 1) {
      await post(`/v1/contexts/${id}/turns`, { type: 'x', payload });
    }
    return `/v1/contexts/${id}/events`;
  },

  'a chat of many lines': async () => {
    await post('/v1/chats', { id: 'lines' });
    for (let n = 0; n < 256; n += 1) {
      const message = { role: 'user', content: long(n, 30_000) };
      await post('/v1/chats/lines/messages', message);
    }
    return '/v1/chats/lines/events';
  },

  'a chat of large messages': async () => {
    await post('/v1/chats', { id: 'large' });
    for (let n = 0; n < 4; n += 1) {
      await post('/v1/chats/large/messages', { role: 'user', content: long(n, 4 * MIB) });
    }
    return '/v1/chats/large/events';
  },

  'a queue of many events': () => queueOf(150, 60_000),
  'a queue of large events': () => queueOf(4, 4 * MIB),

  'a durable stream of many messages': () => streamOf(256, 30_000),
  'a durable stream of large messages': () => streamOf(4, 4 * MIB),

  'a turn that is written': async () => {
    const { id } = await post('/v1/contexts', {});
    const turn = await post(`/v1/contexts/${id}/open`, { type: 'x', encoding: 'text' });
    const text = long(0, 2 * MIB);
    const { length } = JSON.stringify(text);
    for (let n = 0; n < 4; n += 1) {
      const path = `/v1/turns/${turn.id}/delta?offset=${n * length}`;
      expect((await server.http('POST', path, text)).status).toBe(200);
    }
    return `/v1/turns/${turn.id}/events`;
  },
};

async function queueOf(events: number, chars: number): Promise<string> {
  const path = `/v1/queues/q${events}`;
  await server.http('PUT', path);
  for (let n = 0; n < events; n += 1) {
    const event = { source: 'internal:dm:default:warden', type: 'message' };
    await post(`${path}/events`, { ...event, content: long(n, chars) });
  }
  return `${path}/follow`;
}

async function streamOf(messages: number, chars: number): Promise<string> {
  const path = `/v1/streams/s${messages}`;
  await server.http('PUT', path, []);
  for (let n = 0; n < messages; n += 1) {
    expect((await server.http('POST', path, long(n, chars))).status).toBe(204);
  }
  return `${path}?offset=-1&live=sse`;
}

it.each(Object.entries(STREAMED))('is little for %s', async (_, fill) => {
  const path = await fill();
  const before = (await server.settled()).used;
  await server.connect(STREAMS, getOf(path));
  expect(await server.pulseMs()).toBeLessThan(PULSE_MS_MAX);
  await sleep(FILLING_MS);
  // Large events are made a few at a time. Until every stream has met its first one, some are in the making.
  await vi.waitFor(
    async () => {
      const { used } = await server.look();
      expect((used - before) / MIB).toBeLessThan(USED_MAX / MIB);
    },
    { timeout: 45_000, interval: 1000 },
  );
});

it('is noticed when a server holds what nobody takes', async () => {
  await using boundless = await FloodServer.start('boundless');
  const before = (await boundless.look()).used;
  await boundless.connect(40, getOf('/'));
  const growth = async (): Promise<number> => (await boundless.look()).used - before;
  await expect.poll(growth, { timeout: 45_000 }).toBeGreaterThan(USED_MAX);
});
