import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ByteBudget } from '../../src/server/memory/byte-budget.ts';
import { BinaryServer } from '../../src/server/binary/binary-server.ts';
import { openAccess } from '../../src/server/access/access.ts';
import { createCalls } from '../../src/server/calls/create-calls.ts';
import { hashBytes } from '../../src/base/hash.ts';
import { PATIENCE } from '../../src/testing/patience.ts';
import { ModelEngine } from '../../src/testing/model-engine.ts';
import { createStore } from '../../src/store/create-store.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import { SocketPeer } from './socket-peer.ts';
import { json, readEvents, serveHttp } from './http-rig.ts';
import type { HttpRig, RigOptions, Seen } from './http-rig.ts';
import { encodePutBlob } from '../wire/cxdb-client.ts';

type Json = Readonly<Record<string, unknown>>;

interface Page {
  readonly turns: readonly Json[];
}

const SIZES = [10, 300_000, 70_000, 10, 200_000, 10];

async function filled(options: RigOptions = {}): Promise<HttpRig> {
  const rig = await serveHttp(options);
  const { id } = await rig.store.contexts.create();
  for (const [index, size] of SIZES.entries()) {
    const payload = `${index} `.padEnd(size, 'x');
    await rig.store.contexts.append(id, { type: 'note', payload });
  }
  return rig;
}

describe('a page that is too large to be made at once', () => {
  it('has what a small one has, wherever it begins and ends', async () => {
    const { get, store } = await filled();
    const { turns } = await store.contexts.last((await store.contexts.list()).items[0]!.id, 6);
    const all = turns.map((turn) => brief(JSON.parse(JSON.stringify(turn)) as Json));
    const page = async (query: string): Promise<object> => {
      const found = await json<Page>(get(`/v1/contexts/1/turns?${query}`));
      return { ...found, turns: found.turns.map(brief) };
    };
    expect(await page('')).toEqual({ turns: all, headDepth: 5 });
    expect(await page('limit=5')).toEqual({ turns: all.slice(1), cursor: '2', headDepth: 5 });
    expect(await page('before=5&limit=9')).toEqual({ turns: all.slice(0, 4), headDepth: 5 });
    expect(await page('from=1&to=5')).toEqual({ turns: all.slice(1, 5), headDepth: 5 });
    expect(await page('from=1&to=6&limit=2')).toEqual({
      turns: all.slice(1, 3),
      nextDepth: 3,
      headDepth: 5,
    });
    const cut = 'maxBytes=400000';
    expect(await page(cut)).toEqual({ turns: all.slice(2), cursor: '3', headDepth: 5 });
    expect(await page(`${cut}&from=0&to=6`)).toEqual({
      turns: all.slice(0, 4),
      nextDepth: 4,
      headDepth: 5,
    });
    expect(await page('payload=false&limit=1')).toMatchObject({ turns: [{ payload: undefined }] });
    expect(brief(await json(get('/v1/turns/2')))).toEqual(all[1]);
    const lines = (await (await get('/v1/turns/6/chain')).text()).trimEnd().split('\n');
    expect(lines.map((line) => brief(JSON.parse(line) as Json))).toEqual(all);
  });

  it('is compressed for who takes that, and not made for HEAD', async () => {
    const budget = new ByteBudget(1_000_000);
    const { get, url } = await filled({ budget });
    const raw = await fetch(`${url}/v1/contexts/1/turns`, {
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(raw.headers.get('content-encoding')).toBe('gzip');
    expect(await raw.json()).toMatchObject({ headDepth: 5 });
    const plain = await get('/v1/contexts/1/turns', { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect((await get('/v1/contexts/1/turns', { method: 'HEAD' })).status).toBe(200);
    await plain.text();
    await expect.poll(() => budget.held, PATIENCE).toBe(0);
  });
});

describe('a page of a chat or a session', () => {
  it('has its large messages, in their order, and holds nothing when it is over', async () => {
    const budget = new ByteBudget();
    const { get, store } = await serveHttp({ budget });
    await store.chats.create({ id: 'c' });
    const chat = await store.chats.open('c');
    for (const [index, size] of SIZES.entries()) {
      await chat.add({ role: 'user', content: `${index} `.padEnd(size, 'x') });
    }
    const page = (query = ''): Promise<unknown> => json(get(`/v1/chats/c/messages${query}`));
    expect(await page()).toEqual(await chat.messages());
    expect(await page('?limit=2')).toEqual(await chat.messages({ limit: 2 }));
    const found = await json(get('/v1/chats/c/search?text=x&limit=3'));
    expect(found).toEqual(await chat.search('x', { limit: 3 }));
    expect(await (await get('/v1/chats/c/export?format=json')).text()).toBe(
      await text(chat.export({ format: 'json' })),
    );
    expect((await get('/v1/chats/c/messages', { method: 'HEAD' })).status).toBe(200);
    await expect.poll(() => budget.held, PATIENCE).toBe(0);
  });

  it('ends where it has enough bytes, and says where to go on', async () => {
    const { get, store } = await serveHttp();
    await store.chats.create({ id: 'c' });
    const chat = await store.chats.open('c');
    const session = await store.sessions.create();
    for (let n = 0; n < 60; n += 1) {
      const content = `${n} `.padEnd(n % 2 === 0 ? 1_000_000 : 30_000, 'x');
      await session.append({ type: 'message', message: { role: 'user', content } });
    }
    const events = Array.from({ length: 300 }, (_, n) => ({
      type: 'note',
      payload: { text: `${n} `.padEnd(30_000, 'x') },
    }));
    await chat.append(events);
    const log = await json<{ events: unknown[]; next: number }>(get('/v1/chats/c/log'));
    expect(log.events.length).toBeLessThan(300);
    expect(log.next).toBe(log.events.length);
    const rest = await json<{ events: unknown[] }>(get(`/v1/chats/c/log?after=${log.next}`));
    expect(log.events.length + rest.events.length).toBe(300);
    interface Entries {
      readonly entries: readonly unknown[];
      readonly cursor?: number;
    }
    const path = `/v1/sessions/${session.id}/entries?last=1000`;
    const newest = await json<Entries>(get(path));
    expect(newest.entries.length).toBeLessThan(60);
    const older = await json<Entries>(get(`${path}&before=${newest.cursor}`));
    expect([...older.entries, ...newest.entries]).toEqual((await session.last(1000)).entries);
    expect(older.cursor).toBeUndefined();
  });
});

describe('a stream with events that are too large to be held', () => {
  it('has all of them, in their order', async () => {
    const { get, store } = await serveHttp();
    const queue = await store.queues.open('q');
    await store.chats.create({ id: 'c' });
    const chat = await store.chats.open('c');
    const turn = await store.contexts.open((await store.contexts.create()).id, {
      type: 'note',
      encoding: 'text',
    });
    for (const [index, size] of SIZES.entries()) {
      const content = `${index} `.padEnd(size, 'x');
      await queue.push({ source: 'internal:dm:default:warden', type: 'message', content });
      await chat.add({ role: 'user', content });
      await turn.write(content);
    }
    const total = SIZES.reduce((sum, size) => sum + size, 0);
    const events = async (path: string, count: number): Promise<readonly Seen[]> => {
      const seen: Seen[] = [];
      for await (const one of readEvents(await get(path))) if (seen.push(one) === count) break;
      return seen;
    };
    const pushed = await events('/v1/queues/q/follow', SIZES.length);
    expect(pushed.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(
      pushed.map(({ data }) => (data as Json)['content'] as string).map(({ length }) => length),
    ).toEqual(SIZES);
    const said = (await events('/v1/chats/c/events', SIZES.length)).map(
      ({ data }) => data as { seq: number; payload: { content: string } },
    );
    expect(said.map(({ payload }) => payload.content.length)).toEqual(SIZES);
    await turn.seal();
    for (const after of [0, 100_000]) {
      const path = `/v1/turns/${turn.id}/events?after=${after}`;
      const deltas = (await events(path, Infinity)).filter(({ event }) => event === 'delta');
      const pieces = deltas.map(({ data }) => data as { offset: number; base64: string });
      expect(pieces[0]?.offset).toBe(after);
      const bytes = Buffer.concat(pieces.map(({ base64 }) => Buffer.from(base64, 'base64')));
      expect([deltas.at(-1)?.id, bytes.length]).toEqual([String(total), total - after]);
    }
  });
});

describe('requests that are sent without waiting', () => {
  it('are answered in their order, one after the other', async () => {
    const { port, store } = await filled();
    const words = [...Array(6).keys()]
      .map((index) => `GET /v1/turns/${index + 1} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
      .join('');
    const last = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const text = await talk(port, words + last);
    const ids = [...text.matchAll(/\{"id":"(\d)","context"/g)].map(([, id]) => id);
    expect(ids).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(await store.maintain.stats()).toMatchObject({ turns: 6 });
  });

  it('end the connection when they are too many, also behind a stream', async () => {
    const { port, get } = await serveHttp();
    const one = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    expect(await talk(port, one('/v1/events') + one('/healthz').repeat(40))).not.toContain('"ok"');
    const long = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(30_000)}\r\n\r\n`;
    expect(await talk(port, one('/v1/events') + long.repeat(3))).not.toContain('"ok"');
    expect((await get('/healthz')).status).toBe(200);
  });
});

describe('the budget of a server', () => {
  it('counts uploads with what they hold, and refuses large ones when it is spent', async () => {
    const MIB = 1024 * 1024;
    const budget = new ByteBudget(2 * MIB + 1);
    const { url, port, store } = await serveHttp({ budget });
    await store.chats.create({ id: 'c' });
    const held = ['PUT /v1/blobs', 'PUT /v1/chats/c/attachments?name=x'].map((what) => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write(`${what} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n`);
      socket.write(randomBytes(5 * MIB));
      return socket;
    });
    await expect.poll(() => budget.held, PATIENCE).toBe(2 * MIB);
    const put = (size: number): Promise<Response> =>
      fetch(`${url}/v1/blobs`, { method: 'PUT', body: randomBytes(size) });
    expect(await json(put(1.5 * MIB), 429)).toMatchObject({ error: { code: 'UNAVAILABLE' } });
    expect((await put(0.5 * MIB)).status).toBe(201);
    for (const socket of held) socket.destroy();
    await expect.poll(() => budget.held, PATIENCE).toBe(0);
    expect((await put(1.5 * MIB)).status).toBe(201);
    await expect.poll(() => budget.held, PATIENCE).toBe(0);
  });

  it('is one for both protocols', async () => {
    const budget = new ByteBudget(3_000_000);
    const { url, port } = await serveHttp({ budget });
    const engine = new ModelEngine({});
    const served = { engine, store: createStore(engine) };
    const binary = new BinaryServer({ served, calls: createCalls(served), budget });
    onTestFinished(() => binary.close(0));
    const listening = await binary.listen({ host: '127.0.0.1', port: 0 }, openAccess);
    const peer = await SocketPeer.openQuipu(listening.port!);
    onTestFinished(() => peer.close());
    const bytes = Buffer.alloc(2_000_000);
    const put = encodePutBlob({ hash: hashBytes(bytes), bytes });
    // None is large by itself.
    const held = Array.from({ length: 4 }, () => {
      const socket = connect(port, '127.0.0.1');
      const head =
        'POST /v1/contexts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n';
      socket.on('error', () => undefined).write(head.padEnd(900_000, ' '));
      return socket;
    });
    await expect.poll(() => budget.isSpent, PATIENCE).toBe(true);
    expect(await peer.refused(MessageType.PUT_BLOB, put)).toMatchObject({ code: 429 });
    const post = (body: string): Promise<Response> =>
      fetch(`${url}/v1/contexts`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
    expect(await json(post(' '.repeat(1_100_000)), 429)).toMatchObject({
      error: { code: 'UNAVAILABLE' },
    });
    expect((await post('{}')).status).toBe(201);
    for (const socket of held) socket.destroy();
    await expect.poll(() => budget.held, PATIENCE).toBe(0);
    await peer.must(MessageType.PUT_BLOB, put);
    expect((await post(`${' '.repeat(1_100_000)}{}`)).status).toBe(201);
  });
});

async function text(pieces: AsyncIterable<string>): Promise<string> {
  let all = '';
  for await (const piece of pieces) all += piece;
  return all;
}

/** So that what differs can be read. */
function brief({ payload, ...turn }: Json): object {
  const text = payload as string | undefined;
  return { ...turn, payload: text && `${text.slice(0, 5)}… ${text.length}` };
}

/** All that the server says to that, until it ends the connection. */
function talk(port: number, words: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(words));
    socket.on('data', (piece) => {
      text += String(piece);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
}
