/**
 * Invariant: a queue never gives an event that is not what was pushed, and never leaves one out without saying so.
 * Whatever becomes of one of its files, the damage is harmless, or mended from the other file, or told; and verify is
 * not content while something cannot be read.
 */
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Database } from '../../src/base/sqlite.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import type { QueueEvent } from '../../src/queue/events/queue.ts';
import { queueFolder, type QueueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { SCHEMA } from '../../src/queue/sqlite/open-database.ts';
import { repairQueue, verifyQueue } from '../../src/queue/upkeep/queue-health.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { message, openQueue } from './fixture.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const EVENTS = 40;

/** A queue of some pages, closed, with what it holds. */
async function makeQueue(): Promise<{ folder: QueueFolder; events: QueueEvent[] }> {
  const queue = openQueue();
  await queue.subscribe({ consumer: 'w', handler: 'true' });
  for (let number = 1; number <= EVENTS; number += 1) {
    await queue.push({
      source: 'self',
      type: 'record',
      subtype: 'n',
      content: `event ${number} ${'x'.repeat(200)}`,
    });
  }
  await queue.pop('w', { lastEventId: 3 });
  const events = await queue.peek({ lastEventId: 0 });
  await queue.close();
  return { folder: queue.folder, events };
}

function reopen({ path }: QueueFolder): SqliteQueue {
  const queue = new SqliteQueue(queueFolder(path), { wakes: false });
  onTestFinished(() => queue.close());
  return queue;
}

function edit({ database }: QueueFolder, sql: string): void {
  const connection = new Database(database);
  connection.exec(sql);
  connection.close();
}

/** What it gives to who reads everything, with and without a filter; the code of the error when it gives none. */
async function readAll(folder: QueueFolder): Promise<QueueEvent[] | string> {
  const queue = new SqliteQueue(folder, { wakes: false });
  try {
    const all = await queue.peek({ lastEventId: 0 });
    const some = await queue.peek({ lastEventId: 0, filter: "type = 'record'" });
    expect(some).toEqual(all);
    return all;
  } catch (error) {
    return (error as { code: string }).code ?? String(error);
  } finally {
    await queue.close();
  }
}

/** As a program reads that trusts the file. */
function readCarelessly({ database }: QueueFolder): unknown {
  const connection = new Database(database, { access: 'read' });
  try {
    const sql = 'SELECT id, created_at, source, type, subtype, content FROM events ORDER BY id';
    return connection.prepare(sql).all();
  } catch {
    return 'cannot be read';
  } finally {
    connection.close();
  }
}

describe('one flipped bit', { timeout: 60_000 }, () => {
  it('in events.db is harmless, mended or told, and a repair brings every event back', async () => {
    const { folder, events } = await makeQueue();
    const [database, mirror] = [readFileSync(folder.database), readFileSync(folder.mirror)];
    const outcomes = { same: 0, told: 0, careless: 0 };
    const wrong: string[] = [];
    const step = Math.floor(database.length / 150);
    for (let at = 0; at < database.length; at += step) {
      const bytes = Buffer.from(database);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      for (const end of ['-wal', '-shm']) rmSync(folder.database + end, { force: true });
      writeFileSync(folder.database, bytes);
      writeFileSync(folder.mirror, mirror);
      if (JSON.stringify(readCarelessly(folder)) !== JSON.stringify(events)) outcomes.careless += 1;
      const problems = await verifyQueue(folder);
      const found = await readAll(folder);
      const isTold = typeof found === 'string';
      outcomes[isTold ? 'told' : 'same'] += 1;
      if (isTold && (!/^(?:CORRUPT|IO)$/.test(found) || problems.length === 0))
        wrong.push(`${at}: ${found}`);
      repairQueue(folder);
      expect({ at, left: await verifyQueue(folder) }).toEqual({ at, left: [] });
      const after = await readAll(folder);
      expect({ at, after }).toEqual({ at, after: events });
    }
    expect(wrong).toEqual([]);
    // Who does not look at checksums is given something else some of the time.
    expect(outcomes.careless).toBeGreaterThan(10);
    expect(outcomes.same).toBeGreaterThan(10);
  });

  it('in events.jsonl changes nothing that is given, and no id that comes', async () => {
    const { folder, events } = await makeQueue();
    const mirror = readFileSync(folder.mirror);
    const database = readFileSync(folder.database);
    // All of the last line's beginning, where the ids are, and some of the rest.
    const lastLine = mirror.lastIndexOf('\n', mirror.length - 2) + 1;
    const places = Array.from({ length: 16 * 8 }, (_, bit) => [lastLine + (bit >> 3), bit % 8]);
    places.push(
      ...Array.from({ length: 20 }, (_, n) => [Math.floor((mirror.length / 20) * n), n % 8]),
    );
    for (const [at = 0, bit = 0] of places) {
      const bytes = Buffer.from(mirror);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
      for (const end of ['-wal', '-shm']) rmSync(folder.database + end, { force: true });
      writeFileSync(folder.database, database);
      writeFileSync(folder.mirror, bytes);
      expect({ at, found: await readAll(folder) }).toEqual({ at, found: events });
      const queue = new SqliteQueue(folder, { wakes: false });
      expect({ at, id: await queue.push(message('next')) }).toEqual({ at, id: EVENTS + 1 });
      await queue.close();
    }
  });
});

describe('events that are gone', { timeout: 60_000 }, () => {
  const sequence = "DELETE FROM sqlite_sequence WHERE name = 'events'";
  const damages: Record<string, (folder: QueueFolder) => void> = {
    'an emptied database': ({ database }) => truncateSync(database, 0),
    'a deleted database': ({ database }) => rmSync(database),
    'a table that was emptied': (folder) => edit(folder, `DELETE FROM events; ${sequence}`),
    'a table that was dropped': (folder) => edit(folder, 'DROP TABLE events'),
    'the last ones': (folder) => edit(folder, `DELETE FROM events WHERE id > 30; ${sequence}`),
    'some in the middle': (folder) => edit(folder, 'DELETE FROM events WHERE id IN (7, 8, 20)'),
    'the first one': (folder) => edit(folder, 'DELETE FROM events WHERE id = 1'),
    'one that was changed': (folder) =>
      edit(folder, "UPDATE events SET content = 'y' WHERE id = 9"),
    'a checksum that was lost': (folder) =>
      edit(folder, 'UPDATE events SET sum = NULL WHERE id = 9'),
  };
  it.each(Object.keys(damages))('are noticed and come back from the mirror: %s', async (name) => {
    const { folder, events } = await makeQueue();
    damages[name]!(folder);
    expect(await verifyQueue(folder)).not.toEqual([]);
    // As `thread init` and whoever opens it by name do.
    const queue = openQueue(folder.path);
    expect(await queue.peek({ lastEventId: 0 })).toEqual(events);
    expect(await queue.peek({ lastEventId: 0, filter: "type = 'record'" })).toEqual(events);
    expect(await queue.push(message('next'))).toBe(EVENTS + 1);
    await queue.close();
    repairQueue(folder);
    expect(await verifyQueue(folder)).toEqual([]);
  });

  it('for good are told to every reader, until a repair has said which they are', async () => {
    const { folder, events } = await makeQueue();
    rmSync(folder.mirror);
    edit(
      folder,
      "DELETE FROM events WHERE id IN (7, 8); UPDATE events SET content = 'y' WHERE id = 20",
    );
    const queue = reopen(folder);
    const error = await failure(queue.peek({ lastEventId: 0 }), 'CORRUPT');
    expect(error.message).toContain('verify --repair says what is lost');
    await failure(queue.pop('w', { lastEventId: 0 }), 'CORRUPT');
    await failure(queue.peek({ lastEventId: 10, filter: "type = 'record'" }), 'CORRUPT');
    expect(await queue.peek({ lastEventId: 20 })).toHaveLength(EVENTS - 20);
    await queue.close();
    expect(repairQueue(folder)).toEqual(['events 7 to 8 are lost', 'event 20 is lost']);
    expect(await verifyQueue(folder)).toEqual([]);
    const left = events.filter(({ id }) => ![7, 8, 20].includes(id));
    expect(await readAll(folder)).toEqual(left);
    const connection = new Database(folder.database);
    expect(connection.prepare('SELECT id, content FROM damaged_events').all()).toEqual([
      { id: 20, content: 'y' },
    ]);
    connection.close();
  });

  it('with the whole database are told by verify of a store, whose repair brings them back', async () => {
    const path = freshFolder();
    await using store = await openStore(path);
    const queue = await store.queues.open('inbox');
    await queue.pushBatch([message('a'), message('b')]);
    expect(await store.maintain.verify()).toMatchObject({ ok: true, problems: [] });
    rmSync(join(path, 'queues', 'inbox', 'events.db'));
    const report = await store.maintain.verify();
    expect(report.ok).toBe(false);
    expect(report.problems.map(({ what }) => what)).toEqual([
      expect.stringMatching(/^events\.db cannot be read/),
      'events.jsonl has events up to 2',
    ]);
    expect(await store.maintain.verify({ repair: true })).toMatchObject({ ok: true, problems: [] });
    expect(await queue.push(message('c'))).toBe(3);
    expect(await queue.peek({ lastEventId: 0 })).toHaveLength(3);
  });
});

describe('events of other programs', () => {
  it('are taken as they are, and have a checksum from the next push on', async () => {
    const { folder } = await makeQueue();
    edit(folder, "INSERT INTO events (source, type, content) VALUES ('tool', 'message', 'theirs')");
    const queue = reopen(folder);
    const [theirs] = await queue.peek({ lastEventId: EVENTS });
    expect(theirs).toMatchObject({
      id: EVENTS + 1,
      source: 'tool',
      subtype: null,
      content: 'theirs',
    });
    expect(await verifyQueue(folder)).toEqual([]);
    await queue.push(message('ours'));
    await queue.close();
    expect(await verifyQueue(folder)).toEqual([]);
    edit(folder, `UPDATE events SET content = 'y' WHERE id = ${EVENTS + 1}`);
    expect(await verifyQueue(folder)).toEqual([`event ${EVENTS + 1} is damaged`]);
  });

  it('are noticed between two pushes of a process, also when they are gone again', async () => {
    const { folder } = await makeQueue();
    const queue = reopen(folder);
    const other = reopen(folder);
    expect(await queue.push(message('a'))).toBe(EVENTS + 1);
    const theirs =
      "INSERT INTO events (source, type, content) VALUES ('tool', 'message', 'theirs')";
    edit(folder, theirs);
    expect(await queue.push(message('b'))).toBe(EVENTS + 3);
    expect(await other.push(message('c'))).toBe(EVENTS + 4);
    expect(await queue.push(message('d'))).toBe(EVENTS + 5);
    expect(await verifyQueue(folder)).toEqual([]);
    edit(folder, `UPDATE events SET content = 'y' WHERE id = ${EVENTS + 2}`);
    expect(await verifyQueue(folder)).toEqual([`event ${EVENTS + 2} is damaged`]);
    edit(folder, `${theirs}; DELETE FROM events WHERE id = ${EVENTS + 6}`);
    expect(await queue.push(message('e'))).toBe(EVENTS + 7);
    await Promise.all([queue.close(), other.close()]);
  });

  it('and of an earlier version open, with checksums', async () => {
    const path = freshFolder();
    const folder = queueFolder(path);
    edit(
      folder,
      `${SCHEMA} PRAGMA user_version = 1;
      INSERT INTO events (source, type, content) VALUES ('s', 'message', 'a'), ('s', 'message', 'é\u{1f600}')`,
    );
    const queue = reopen(folder);
    expect((await queue.peek({ lastEventId: 0 })).map(({ content }) => content)).toEqual([
      'a',
      'é\u{1f600}',
    ]);
    await queue.close();
    edit(folder, "UPDATE events SET source = 'x' WHERE id = 2");
    expect(await verifyQueue(folder)).toEqual(['event 2 is damaged']);
  });

  it('made a database that is no queue: it is explained', async () => {
    const path = freshFolder();
    edit(queueFolder(path), 'CREATE TABLE events (name TEXT)');
    const error = await failure(reopen(queueFolder(path)).push(message('a')), 'CORRUPT');
    expect(error.message).toMatch(/events\.db in \S+ is not a thread's/);
  });
});
