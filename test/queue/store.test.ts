import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import type { NewEvent, Queue, QueueEvent } from '../../src/queue/events/queue.ts';
import { restoreStore } from '../../src/restore-store.ts';
import { startServer } from '../../src/server/start-server.ts';
import { changeTokenFile, toTokenRecord } from '../../src/server/access/token-file.ts';
import type { Store } from '../../src/store/store.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const event = (content: string, source = 'self'): NewEvent => ({
  source,
  type: 'message',
  content,
});
const contents = (events: readonly QueueEvent[]): string[] => events.map(({ content }) => content);

const LISTED = [{ name: 'inbox', event_count: 4, last_event_id: 4, subscriptions: 0 }];

/** What every store promises of its queues, wherever it is. The list of them at the end. */
async function useQueues(store: Store): Promise<unknown> {
  await failure(store.queues.open('inbox', { create: false }), 'NOT_FOUND');
  await failure(store.queues.open('No/Such'), 'INVALID');
  const queue: Queue = await store.queues.open('inbox');
  expect(await queue.push(event('a'))).toBe(1);
  expect(await queue.pushBatch([event('b', 'x'), event('c')])).toEqual([2, 3]);
  await failure(queue.push({ ...event('d'), source: 'external:x' }), 'INVALID');
  expect(contents(await queue.peek({ lastEventId: 0, filter: "source = 'self'" }))).toEqual([
    'a',
    'c',
  ]);
  await failure(queue.peek({ lastEventId: 0, filter: 'x' }), 'INVALID');
  await failure(queue.pop('w', { lastEventId: 0 }), 'NOT_FOUND');
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const one of queue.follow({ lastEventId: 1, signal: stop.signal })) {
    seen.push(one.content);
    if (seen.length === 2) await queue.push(event('e'));
    if (seen.length === 3) stop.abort();
  }
  expect(seen).toEqual(['b', 'c', 'e']);
  expect(await queue.dispatch()).toEqual({ started: [], skipped: [] });
  expect(await queue.info()).toMatchObject({ event_count: 4, subscriptions: [] });
  return store.queues.list();
}

/** Handlers are for who is admin by token. */
const TOKEN = 'a-token';

async function serve(
  folder: string,
  allowHandlers = false,
): Promise<{ http: string; tcp: string }> {
  const quiet = (): void => undefined;
  const server = await startServer({
    store: folder,
    host: '127.0.0.1',
    httpPort: 0,
    tcpPort: 0,
    tokenFile: join(folder, '../tokens.json'),
    allowAnonymous: false,
    allowHandlers,
    origins: [],
    limits: {},
    demo: false,
    version: 'test',
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  onTestFinished(() => server.close(0));
  return { http: server.http, tcp: server.tcp };
}

describe('queues of a store', () => {
  it('work in a folder, from two processes of it, and end with it', async () => {
    const folder = freshFolder();
    const store = await openStore(folder);
    expect(await useQueues(store)).toEqual(LISTED);
    const queue = await store.queues.open('inbox');
    const following = (async () => {
      for await (const one of queue.follow({ lastEventId: 4 })) throw new Error(one.content);
    })();
    await store.close();
    await following;
    await failure(queue.push(event('f')), 'CLOSED');
    await failure(store.queues.list(), 'CLOSED');
  });

  it('must be copied before the store calls itself backed up', async () => {
    const folder = freshFolder();
    await using store = await openStore(join(folder, 'store'));
    const damaged = join(folder, 'store', 'queues', 'damaged');
    mkdirSync(damaged, { recursive: true });
    writeFileSync(join(damaged, 'events.db'), 'this is no database, and nothing can copy it');
    await expect(store.maintain.backup(join(folder, 'backup'))).rejects.toThrow('not a database');
    expect((await store.maintain.stats()).lastBackup).toBeUndefined();
    rmSync(damaged, { recursive: true });
    await store.maintain.backup(join(folder, 'backup'));
    expect((await store.maintain.stats()).lastBackup?.at).toBeGreaterThan(0);
  });

  it('are backed up, restored and verified with it', async () => {
    const folder = freshFolder();
    const store = await openStore(join(folder, 'store'));
    const queue = await store.queues.open('inbox');
    await queue.subscribe({ consumer: 'w', handler: 'true', filter: "source = 'x'" });
    await queue.pushBatch([event('a'), event('b')]);
    expect(await store.maintain.verify()).toMatchObject({ ok: true });
    await store.maintain.backup(join(folder, 'backup'));
    await queue.push(event('c'));
    await store.maintain.backup(join(folder, 'backup'));
    await store.close();
    await restoreStore(join(folder, 'backup'), join(folder, 'again'));
    await using again = await openStore(join(folder, 'again'));
    const copy = await again.queues.open('inbox', { create: false });
    expect(contents(await copy.peek({ lastEventId: 0 }))).toEqual(['a', 'b', 'c']);
    expect((await copy.info()).subscriptions).toHaveLength(1);
    expect(await copy.push(event('d'))).toBe(4);
    const damaged = join(folder, 'again', 'queues', 'other');
    await again.queues.open('other');
    const bytes = readFileSync(join(damaged, 'events.db'));
    writeFileSync(join(damaged, 'events.db'), bytes.fill(0x55, 4096, 12_288));
    const report = await again.maintain.verify();
    expect(report.ok).toBe(false);
    expect(report.problems[0]).toMatchObject({ file: 'queues/other/events.db', severity: 'lost' });
  });

  it('work over the binary protocol and HTTP', async () => {
    for (const kind of ['tcp', 'http'] as const) {
      const address = (await serve(join(freshFolder(), 'store')))[kind];
      await using store = await openStore(address);
      expect(await useQueues(store)).toEqual(LISTED);
    }
  });
});

describe('HTTP', () => {
  it('has routes for queues, and follows them as events', async () => {
    const folder = freshFolder();
    const record = toTokenRecord(TOKEN, { name: 'admin', scope: 'admin', createdAt: 1 });
    await changeTokenFile(join(folder, 'tokens.json'), () => [record]);
    const { http } = await serve(join(folder, 'store'), true);
    const authorization = `Bearer ${TOKEN}`;
    const ask = async (
      method: string,
      path: string,
      body?: unknown,
    ): Promise<[number, unknown]> => {
      const response = await fetch(`${http}/v1/queues${path}`, {
        method,
        headers: { 'Content-Type': 'application/json', authorization },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return [response.status, text === '' ? undefined : JSON.parse(text)];
    };
    expect(await ask('GET', '/inbox')).toMatchObject([404, { error: { code: 'NOT_FOUND' } }]);
    expect(await ask('PUT', '/inbox')).toEqual([204, undefined]);
    const handler = { handler: 'true', filter: "source = 'x'" };
    expect(await ask('PUT', '/inbox/consumers/w', handler)).toMatchObject([
      201,
      { consumer_id: 'w' },
    ]);
    expect(await ask('PUT', '/inbox/consumers/w', handler)).toMatchObject([409, {}]);
    expect(await ask('POST', '/inbox/events', event('a'))).toEqual([201, { id: 1 }]);
    const events = [event('b', 'x'), event('c')];
    expect(await ask('POST', '/inbox/events', { events })).toEqual([201, { ids: [2, 3] }]);
    expect(await ask('POST', '/inbox/events', { ...event('d'), type: 'note' })).toMatchObject([
      422,
      {},
    ]);
    expect(await ask('GET', '/inbox/events?after=1&limit=1')).toMatchObject([
      200,
      { events: [{ id: 2 }] },
    ]);
    expect(await ask('GET', `/inbox/events?filter=${encodeURIComponent('1; --')}`)).toMatchObject([
      422,
      {},
    ]);
    const pop = { last_event_id: 0 };
    expect(await ask('POST', '/inbox/consumers/w/pop', pop)).toMatchObject([
      200,
      { events: [{ id: 2 }] },
    ]);
    expect(await ask('DELETE', '/inbox/consumers/w')).toEqual([204, undefined]);
    expect(await ask('POST', '/inbox/dispatch')).toEqual([200, { started: [], skipped: [] }]);
    expect(await ask('GET', '')).toMatchObject([
      200,
      { queues: [{ name: 'inbox', event_count: 3 }] },
    ]);
    expect((await ask('GET', '/inbox/follow?after=-1'))[0]).toBe(422);

    const stop = new AbortController();
    const follow = await fetch(`${http}/v1/queues/inbox/follow`, {
      headers: { 'Last-Event-ID': '2', authorization },
      signal: stop.signal,
    });
    await ask('POST', '/inbox/events', event('live'));
    let text = '';
    const decoder = new TextDecoder();
    for await (const piece of follow.body!) {
      text += decoder.decode(piece as Uint8Array, { stream: true });
      if (text.includes('"live"')) break;
    }
    stop.abort();
    expect(text.match(/^id: \d+$/gm)).toEqual(['id: 3', 'id: 4']);
  });
});
