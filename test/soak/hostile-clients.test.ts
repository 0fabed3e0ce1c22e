import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FloodServer, MIB, closed, getOf } from '../service/flood-rig.ts';

// Hostile clients against a served store, at the size at which an attack was seen to work: gigabytes, and minutes in which
// nobody else was answered. What is measured is the most that the server's process ever occupied, and how long somebody
// else waits meanwhile. test/service/http-flood.test.ts has the same in small.

const GROWTH_MAX = 500 * MIB;
/** About 150 KB for each stream, and as much again for the collector to be late. */
const STREAMS_GROWTH_MAX = 300 * MIB;
const PULSE_MS_MAX = 10_000;
/** Ends the loop of a test, not the test. */
const ATTACK_MS = 20_000;

let server: FloodServer;
let before: number;
/** 42 turns of a megabyte. */
let large: string;

beforeEach(async () => {
  server = await FloodServer.start();
  large = await server.fill(42, 1_000_000);
  before = (await server.look()).rss;
});
afterEach(() => server[Symbol.asyncDispose]());

/** What an attack did to others: nothing, if all is well. */
async function harmOf(attack: () => Promise<unknown>, growthMax = GROWTH_MAX): Promise<string[]> {
  let isOver = false;
  let worstMs = 0;
  const watching = (async () => {
    while (!isOver) {
      worstMs = Math.max(worstMs, await server.pulseMs());
      await sleep(100);
    }
  })();
  await attack();
  isOver = true;
  await watching;
  const growth = (await server.settled()).peak - before;
  const { status } = await server.http('GET', `${large}/turns?limit=2`);
  return [
    ...(growth < growthMax ? [] : [`the server grew by ${Math.round(growth / MIB)} MiB`]),
    ...(worstMs < PULSE_MS_MAX ? [] : [`somebody waited for ${Math.round(worstMs)} ms`]),
    ...(status === 200 ? [] : [`a page got ${status}`]),
  ];
}

describe('pages that nobody takes', () => {
  it.each([
    [50, 2],
    [50, 17],
    [500, 2],
  ])('%i connections with %i of 42 MB, cut after a second', async (count, pages) => {
    const harm = await harmOf(async () => {
      await server.connect(count, getOf(`${large}/turns?limit=42`).repeat(pages));
      await sleep(1000);
      server.cut();
      await sleep(2000);
    });
    expect(harm).toEqual([]);
  });

  it('asked for again and again', async () => {
    const harm = await harmOf(async () => {
      const untilMs = performance.now() + ATTACK_MS;
      while (performance.now() < untilMs) {
        await server.connect(50, getOf(`${large}/turns?limit=42`).repeat(2));
        await sleep(500);
        server.cut();
      }
    });
    expect(harm).toEqual([]);
  });

  it('in the encoding of the calls', async () => {
    const head =
      'POST /v1/call/engine.stats HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n';
    const harm = await harmOf(async () => {
      await server.connect(200, head.repeat(10));
      await sleep(3000);
    });
    expect(harm).toEqual([]);
  });
});

describe('event streams that nobody reads', () => {
  it.each([
    [200, 0],
    [200, 1],
    [1000, 0],
    [1000, 1],
  ])('%i of a context, with %i large pages behind', async (count, pages) => {
    const stream = getOf(`${large}/events`);
    const harm = await harmOf(async () => {
      await server.connect(count, stream + getOf(`${large}/turns?limit=42`).repeat(pages));
      await sleep(ATTACK_MS);
    }, STREAMS_GROWTH_MAX);
    expect(harm).toEqual([]);
  });

  it('1000 of the store, while much happens', async () => {
    const harm = await harmOf(async () => {
      await server.connect(1000, getOf('/v1/events'));
      for (let n = 0; n < 500; n += 1) {
        await server.http('POST', `${large}/turns`, { type: 'note', payload: 'x' });
      }
    }, STREAMS_GROWTH_MAX);
    expect(harm).toEqual([]);
  });
});

describe('requests', () => {
  it('a thousand in one breath on each of 500 connections', async () => {
    const harm = await harmOf(async () => {
      const words = getOf('/v1/events') + getOf('/').repeat(1000);
      const sockets = await server.connect(500, words);
      await Promise.all(sockets.map(closed));
    });
    expect(harm).toEqual([]);
  });

  it('2,000 connections that say nothing, and are gone after ten seconds', async () => {
    const harm = await harmOf(async () => {
      const sockets = await server.connect(2000);
      await Promise.all(sockets.map(closed));
    });
    expect(harm).toEqual([]);
  });

  it('300 bodies of 60 MB that stop before their end', async () => {
    const head = `POST ${large}/turns HTTP/1.1\r\nHost: localhost\r\nContent-Length: 62914560\r\n\r\n`;
    const harm = await harmOf(async () => {
      const sockets = await server.connect(300, head);
      for (const socket of sockets) socket.write(Buffer.alloc(8 * MIB, ' '));
      await sleep(ATTACK_MS);
      // All that the budget allows, and what is small enough to be taken anyway.
    }, 1050 * MIB);
    expect(harm).toEqual([]);
  });
});

describe('uploads', () => {
  it('200 that come at once, and break off', async () => {
    const head = 'PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 62914560\r\n\r\n';
    const harm = await harmOf(async () => {
      const sockets = await server.connect(200, head);
      for (const socket of sockets) socket.write(randomBytes(4 * MIB));
      await sleep(ATTACK_MS / 2);
      server.cut();
    });
    expect(harm).toEqual([]);
  });
});

describe('archives', () => {
  it('of a chat that is a thousand times as long as its file', async () => {
    await server.http('POST', '/v1/chats', { id: 'bomb' });
    for (let n = 0; n < 16; n += 1) {
      const content = `${n}`.padEnd(4 * MIB, 'x');
      const said = await server.http('POST', '/v1/chats/bomb/messages', { role: 'user', content });
      expect(said.status).toBe(201);
      await said.text();
    }
    expect((await server.http('POST', '/v1/chats/bomb/archive')).status).toBe(200);
    const harm = await harmOf(async () => {
      await server.connect(50, getOf('/v1/chats/bomb/messages') + getOf('/v1/chats/bomb/export'));
      await sleep(ATTACK_MS);
      // Messages are made one by one, as values, text and bytes; 128 MiB of them wait for who takes them.
    }, 1000 * MIB);
    expect(harm).toEqual([]);
  });
});
