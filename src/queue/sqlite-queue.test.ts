import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { failure } from '../testing/engine-suite/fixture.ts';
import { createQueueFolder, queueFolder } from './folder.ts';
import type { NewEvent, QueueEvent } from './queue.ts';
import { SqliteQueue } from './sqlite-queue.ts';
import type { SqliteQueueOptions } from './sqlite-queue.ts';
import { SCHEMA } from './sqlite/schema.ts';

function makeFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'quipu-queue-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function openQueue(path = makeFolder(), options: SqliteQueueOptions = {}): SqliteQueue {
  createQueueFolder(path);
  const queue = new SqliteQueue(queueFolder(path), { wakes: false, ...options });
  onTestFinished(() => queue.close());
  return queue;
}

const message = (content: string, source = 'self'): NewEvent => ({
  source,
  type: 'message',
  content,
});
const contents = (events: readonly QueueEvent[]): string[] => events.map(({ content }) => content);
const mirrored = (queue: SqliteQueue): QueueEvent[] =>
  readFileSync(queue.folder.mirror, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as QueueEvent);

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
    await failure(queue.push(message('b')), 'CORRUPT');
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

describe('events.jsonl', () => {
  const damages: Record<string, (path: string, size: number) => void> = {
    'a lost file': (path) => rmSync(path),
    'a line that was cut off': (path, size) => truncateSync(path, size - 20),
    'lines that were lost': (path) =>
      writeFileSync(path, `${readFileSync(path, 'utf8').split('\n')[0]!}\n`),
    'a line that was begun': (path) => appendFileSync(path, '{"id":4,"crea'),
  };
  it.each(Object.keys(damages))('is made whole after %s, with the next push', async (name) => {
    const queue = openQueue();
    await queue.pushBatch([message('a'), message('b'), message('c')]);
    damages[name]!(queue.folder.mirror, readFileSync(queue.folder.mirror).length);
    await queue.push(message('d'));
    expect(mirrored(queue)).toEqual(await queue.peek({ lastEventId: 0 }));
  });

  it('is put aside when it makes no sense, and nothing of it is lost', async () => {
    const queue = openQueue();
    await queue.pushBatch([message('a'), message('b')]);
    appendFileSync(queue.folder.mirror, '\0\0\0\n');
    await queue.push(message('c'));
    expect(contents(mirrored(queue))).toEqual(['a', 'b', 'c']);
    expect(
      readdirSync(queue.folder.path).filter((name) => /^events-.*\.jsonl$/.test(name)),
    ).toHaveLength(1);
  });

  it('does not fail a push that it cannot follow, and catches up', async () => {
    const warnings: string[] = [];
    const queue = openQueue(makeFolder(), { warn: (text) => warnings.push(text) });
    rmSync(queue.folder.mirror);
    mkdirSync(queue.folder.mirror);
    expect(await queue.push(message('a'))).toBe(1);
    expect(warnings).toEqual([expect.stringMatching(/^events\.jsonl is behind/)]);
    expect(readFileSync(queue.folder.log, 'utf8')).toMatch(
      /\[WARN\] push: events\.jsonl is behind/,
    );
    rmSync(queue.folder.mirror, { recursive: true });
    await queue.push(message('b'));
    expect(contents(mirrored(queue))).toEqual(['a', 'b']);
  });

  it('is put aside past 10,000 lines with the next push, under a name of its own', async () => {
    const queue = openQueue(makeFolder(), { now: () => 1_700_000_000_000 });
    const asides = (): string[] =>
      readdirSync(queue.folder.path)
        .filter((name) => /^events-.*\.jsonl$/.test(name))
        .toSorted();
    const many = Array.from({ length: 10_000 }, () => message('x'));
    await queue.pushBatch(many);
    await queue.push(message('10,001'));
    expect(asides()).toEqual([]);
    await queue.push(message('10,002'));
    expect(asides()).toEqual(['events-20231114-221320.jsonl']);
    expect(contents(mirrored(queue))).toEqual(['10,002']);
    await queue.pushBatch(many);
    await queue.push(message('y'));
    expect(asides()).toEqual(['events-20231114-221320-2.jsonl', 'events-20231114-221320.jsonl']);
    expect(mirrored(queue).map(({ id }) => id)).toEqual([20_003]);
    expect(await queue.peek({ lastEventId: 0, limit: 100_000 })).toHaveLength(20_003);
  });

  it('has every event once when two queues write it in turns', async () => {
    const queue = openQueue();
    const other = openQueue(queue.folder.path);
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([queue.push(message('a')), other.push(message('b'))]);
    }
    expect(mirrored(queue).map(({ id }) => id)).toEqual(
      Array.from({ length: 40 }, (_, at) => at + 1),
    );
  });
});

describe('logs/thread.log', () => {
  it('is put aside past 10,000 lines, counted without reading it', async () => {
    const now = (): number => 1_700_000_000_000;
    const queue = openQueue(makeFolder(), { now });
    const lines = Array.from({ length: 9_999 }, () => ({ level: 'INFO', text: 'x' }) as const);
    queue.log(...lines);
    // The first push of a process counts its line, as a command does that pushes once.
    for (const text of ['a', 'b', 'c'])
      await openQueue(queue.folder.path, { now }).push(message(text));
    expect(readdirSync(queue.folder.logs).toSorted()).toEqual([
      'thread-20231114-221320.log',
      'thread.log',
    ]);
    expect(readFileSync(queue.folder.log, 'utf8')).toBe(
      '[2023-11-14T22:13:20.000Z] [INFO] push: source=self type=message id=3\n',
    );
  });

  it('has no line that a handler made up', () => {
    const queue = openQueue();
    queue.log({
      level: 'WARN',
      text: 'out\n[2026-01-01T00:00:00.000Z] [INFO] push: id=9\u001b[2J',
    });
    expect(readFileSync(queue.folder.log, 'utf8').split('\n')).toHaveLength(2);
  });
});
