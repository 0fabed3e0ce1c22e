import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Database } from '../../src/base/sqlite.ts';
import { describe, expect, it } from 'vitest';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { createQueueFolder, SCHEMA } from '../../src/queue/sqlite/open-database.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { contents, message, mirrored, openQueue } from './fixture.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

describe('a queue in a folder', () => {
  it('mirrors events in the words of the table', async () => {
    const queue = openQueue(freshFolder(), { now: () => 1_700_000_000_000 });
    expect(await queue.push(message('a'))).toBe(1);
    const record = { source: 'x', type: 'record', subtype: 'toolcall', content: '{}' } as const;
    expect(await queue.pushBatch([record, message('c')])).toEqual([2, 3]);
    const events = await queue.peek({ lastEventId: 0 });
    expect(JSON.stringify(events[1])).toBe(
      '{"id":2,"created_at":"2023-11-14T22:13:20.000Z","source":"x","type":"record","subtype":"toolcall","content":"{}"}',
    );
    expect(mirrored(queue)).toEqual(events);
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

  it('mirrors every character', async () => {
    const queue = openQueue();
    const texts = ['a\0b', '"\\\n\u2028', '😀'];
    await queue.pushBatch(texts.map((text) => message(text)));
    expect(contents(mirrored(queue))).toEqual(texts);
  });

  it('has locks and no fences', async () => {
    const queue = openQueue();
    await queue.subscribe({ consumer: 'w', handler: 'true' });
    const refused = await failure(queue.pop('w', { lastEventId: 0, fence: 1 }), 'UNSUPPORTED');
    expect(refused.message).toMatch(/leave the fence out/);
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
    const path = freshFolder();
    const database = new Database(queueFolder(path).database);
    database.exec(SCHEMA);
    database.exec(`INSERT INTO events (source, type, content) VALUES ('self', 'message', 'old');
      INSERT INTO subscriptions VALUES ('pasted', 'true', 'hex(content) > 1')`);
    database.close();
    const queue = openQueue(path);
    await queue.push(message('new'));
    expect(contents(mirrored(queue))).toEqual(['old', 'new']);
    await failure(queue.pop('pasted', { lastEventId: 0 }), 'CORRUPT');
    expect((await queue.dispatch()).skipped).toHaveLength(1);
    expect((await queue.info()).progress[0]).toMatchObject({ lag: null });
  });
});
