import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createQueueFolder, queueFolder } from '../../src/queue/folder.ts';
import { SCHEMA } from '../../src/queue/sqlite/schema.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { contents, makeFolder, message, mirrored, openQueue } from './fixture.ts';

describe('a queue', () => {
  it('gives events in the order they were pushed, in the words of the table', async () => {
    const queue = openQueue(makeFolder(), { now: () => 1_700_000_000_000 });
    expect(await queue.push(message('a'))).toBe(1);
    const record = { source: 'x', type: 'record', subtype: 'toolcall', content: '{}' } as const;
    expect(await queue.pushBatch([record, message('c')])).toEqual([2, 3]);
    const events = await queue.peek({ lastEventId: 0 });
    expect(JSON.stringify(events[1])).toBe(
      '{"id":2,"created_at":"2023-11-14T22:13:20.000Z","source":"x","type":"record","subtype":"toolcall","content":"{}"}',
    );
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(mirrored(queue)).toEqual(events);
    expect(contents(await queue.peek({ lastEventId: 1, limit: 1 }))).toEqual(['{}']);
    expect(contents(await queue.peek({ lastEventId: 0, filter: "type = 'record'" }))).toEqual([
      '{}',
    ]);
  });

  it('has pushes of one moment in one transaction, each with its own answer', async () => {
    const queue = openQueue();
    const ids = await Promise.all([
      queue.push(message('a')),
      queue.pushBatch([message('b'), message('c')]),
      queue.push(message('d')),
    ]);
    expect(ids).toEqual([1, [2, 3], 4]);
    await queue.close();
    const log = readFileSync(queue.folder.log, 'utf8');
    expect(log).toMatch(/^\[[^\]]+Z\] \[INFO\] push: events=4 id=1-4\n$/);
  });

  it('stores all of a batch or none, and loses no id', async () => {
    const queue = openQueue();
    const batch = [message('a'), { ...message('b'), source: '' }];
    await failure(queue.pushBatch(batch), 'INVALID');
    expect(await queue.push(message('c'))).toBe(1);
  });

  it('keeps every character', async () => {
    const queue = openQueue();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), async (texts) => {
        const ids = await queue.pushBatch(texts.map((text) => message(text)));
        const lastEventId = ids[0]! - 1;
        const events = await queue.peek({ lastEventId, limit: 1000 });
        expect(contents(events)).toEqual(texts);
        expect(mirrored(queue).slice(lastEventId)).toEqual(events);
      }),
      { numRuns: 20 },
    );
  });

  it('cuts a page that grows large', async () => {
    const queue = openQueue();
    await queue.pushBatch(['a', 'b', 'c'].map((text) => message(text.repeat(1000))));
    expect(await queue.peek({ lastEventId: 0, maxBytes: 1500 })).toHaveLength(2);
  });

  it('is no longer there when its folder is deleted, and comes back with it', async () => {
    const queue = openQueue();
    await queue.push(message('a'));
    rmSync(queue.folder.path, { recursive: true });
    await failure(queue.push(message('b')), 'NOT_FOUND');
    await failure(queue.info(), 'NOT_FOUND');
    createQueueFolder(queue.folder.path);
    expect(await queue.push(message('c'))).toBe(1);
  });

  it('says what is wrong with a database that is none', async () => {
    const queue = openQueue();
    writeFileSync(queue.folder.database, 'x'.repeat(5000));
    const refused = await failure(queue.push(message('b')), 'CORRUPT');
    expect(refused.message).toMatch(/events\.db in .* is damaged/);
  });

  it('takes over a folder that has only the three tables', async () => {
    const path = makeFolder();
    const database = new Database(queueFolder(path).database);
    database.exec(SCHEMA);
    database.exec(`INSERT INTO events (source, type, content) VALUES ('self', 'message', 'old');
      INSERT INTO subscriptions VALUES ('pasted', 'true', 'length(content) > 1')`);
    database.close();
    const queue = openQueue(path);
    await queue.push(message('new'));
    expect(contents(mirrored(queue))).toEqual(['old', 'new']);
    await failure(queue.pop('pasted', { lastEventId: 0 }), 'CORRUPT');
    expect((await queue.dispatch()).skipped).toHaveLength(1);
    expect((await queue.info()).progress[0]).toMatchObject({ lag: null });
  });
});

describe('consumers', () => {
  it('each go on where they were, and get again what they did not acknowledge', async () => {
    const queue = openQueue();
    await queue.subscribe({ consumer: 'all', handler: 'true' });
    await queue.subscribe({ consumer: 'some', handler: 'true', filter: "source LIKE 'a%'" });
    await queue.pushBatch([message('1', 'a'), message('2', 'b'), message('3', 'a')]);
    expect(contents(await queue.pop('all', { lastEventId: 0, limit: 2 }))).toEqual(['1', '2']);
    expect(contents(await queue.pop('some', { lastEventId: 0 }))).toEqual(['1', '3']);
    expect(contents(await queue.pop('all', { lastEventId: 0 }))).toEqual(['1', '2', '3']);
    expect(contents(await queue.pop('some', { lastEventId: 3 }))).toEqual([]);
    const info = await queue.info();
    expect(info).toMatchObject({ event_count: 3, last_event_id: 3 });
    expect(info.progress).toMatchObject([
      { consumer_id: 'all', last_acked_id: 0, lag: 3, state: 'idle' },
      { consumer_id: 'some', last_acked_id: 3, lag: 0, state: 'idle' },
    ]);
  });

  it('are refused when there is none, when there is one, and past the end', async () => {
    const queue = openQueue();
    await failure(queue.pop('w', { lastEventId: 0 }), 'NOT_FOUND');
    await failure(queue.unsubscribe('w'), 'NOT_FOUND');
    await queue.subscribe({ consumer: 'w', handler: 'true' });
    const again = queue.subscribe({ consumer: 'w', handler: 'false' });
    await failure(again, 'EXISTS');
    await failure(queue.pop('w', { lastEventId: 1 }), 'INVALID');
    expect((await queue.info()).progress[0]).toMatchObject({ updated_at: null });
    await queue.unsubscribe('w');
    expect((await queue.info()).subscriptions).toEqual([]);
  });

  it('find what matches after a long stretch of what does not, also after going back', async () => {
    const queue = openQueue();
    const filter = "content LIKE 'x%'";
    await queue.subscribe({ consumer: 'w', handler: 'true', filter });
    const many = Array.from({ length: 3000 }, () => message('no'));
    await queue.pushBatch([message('x1'), ...many]);
    expect(contents(await queue.pop('w', { lastEventId: 0 }))).toEqual(['x1']);
    expect(await queue.pop('w', { lastEventId: 1 })).toEqual([]);
    // Now there is a bookmark at the end.
    await queue.push(message('x2'));
    expect(contents(await queue.pop('w', { lastEventId: 1 }))).toEqual(['x2']);
    expect(contents(await queue.pop('w', { lastEventId: 0 }))).toEqual(['x1', 'x2']);
    await queue.unsubscribe('w');
    await queue.subscribe({ consumer: 'w', handler: 'true', filter: "content = 'no'" });
    expect(await queue.pop('w', { lastEventId: 1, limit: 2 })).toHaveLength(2);
  });

  it('are told of what comes, by one process and by another', async () => {
    const queue = openQueue();
    const other = openQueue(queue.folder.path);
    const stop = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      for await (const event of queue.follow({ filter: "source = 'a'", signal: stop.signal })) {
        seen.push(event.content);
        if (seen.length === 2) stop.abort();
      }
    })();
    await queue.pushBatch([message('1', 'a'), message('2', 'b')]);
    await other.push(message('3', 'a'));
    await following;
    expect(seen).toEqual(['1', '3']);
  });
});
