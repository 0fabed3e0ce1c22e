/**
 * Invariant: what was acknowledged is there, whatever became of the disk, and what was not is told with a reason that
 * helps. When the disk is as it should be again, everything goes on.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Database } from '../../src/base/sqlite.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import type { NewEvent, Queue } from '../../src/queue/events/queue.ts';
import type { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { failure } from '../../src/testing/engine-suite/fixture.ts';
import { projectPath } from '../support/project.ts';
import { message, openQueue } from './fixture.ts';
import { onPrivateDisk, whyNoPrivateDisk } from './private-disk.ts';
import { ThreadRig } from './rig.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const noDisk = whyNoPrivateDisk();
const PUSH = 'thread push --thread t --source self --type message --content';
const CARELESS = `"${process.execPath}" "${projectPath('test/queue/careless-push.mjs')}" t`;

/** Pushes on a disk that is full, and on one that is read-only, with care and without. */
const SCRIPT = `thread init t > /dev/null
  ${PUSH} first
  dd if=/dev/zero of=fill bs=64k 2> /dev/null
  ${PUSH} full; echo "exit $?"
  ${CARELESS} careless
  rm fill
  ${PUSH} room
  mount -o remount,ro "$PWD"
  ${PUSH} read-only; echo "exit $?"
  ${CARELESS} careless
  thread init u; echo "exit $?"
  mount -o remount,rw "$PWD"
  thread peek --thread t --last-event-id 0 | sed 's/.*content":"//'`;

describe('a disk that is full, and one that is read-only', { timeout: 60_000 }, () => {
  it('stores nothing and says so, and takes what comes when it can again', async (context) => {
    if (noDisk !== undefined) context.skip(noDisk);
    using rig = new ThreadRig();
    rig.env['THREAD_NOTIFIER'] = 'true';
    const { out, err } = await rig.sh(onPrivateDisk(SCRIPT, 600_000));
    expect(err.replaceAll(rig.folder, '').split('\n')).toEqual([
      'Error: the disk is full, in /disk/t - free some space and try again; nothing was stored',
      'Error: /disk/t cannot be written to - check the owner and mode of the directory and of the files in it',
      'Error: /disk cannot be written to - check the owner and mode of the directory and of the files in it',
      '',
    ]);
    const lines = out.split('\n').filter((line) => line !== 'Pushed without care');
    expect(lines.slice(0, 5)).toEqual([
      'Pushed event 1',
      'exit 1',
      'Pushed event 2',
      'exit 1',
      'exit 1',
    ]);
    expect(lines.slice(5)).toEqual(['first"}', 'room"}', '']);
    // What a push that does not look at SQLite's answer acknowledged is not there: this would show it.
    expect(out.match(/Pushed without care/g)).toHaveLength(2);
  });

  it('is told where a file may not grow', async (context) => {
    if (noDisk === undefined) context.skip('a disk that is really full says more');
    using rig = new ThreadRig();
    rig.env['THREAD_NOTIFIER'] = 'true';
    const full = await rig.sh(`thread init t; (ulimit -f 200; ${PUSH} ${'x'.repeat(120_000)})`);
    expect(full).toMatchObject({ code: 1, err: expect.stringMatching(/^Error: /) as string });
    expect((await rig.sh(`${PUSH} x`)).out).toBe('Pushed event 1\n');
  });

  it('is told to a program that had the queue open before', async (context) => {
    const skipped = await freezeUnder((queue) => queue);
    if (skipped !== undefined) context.skip(skipped);
    expect(skipped).toBeUndefined();
  });

  it('would be noticed when a push is acknowledged all the same', async (context) => {
    const careless = (queue: SqliteQueue): Queue =>
      Object.assign(Object.create(queue) as SqliteQueue, {
        push: (event: NewEvent) => queue.push(event).catch(() => 2),
      });
    const outcome = await freezeUnder(careless).catch((error: unknown) => String(error));
    if (outcome !== undefined && !outcome.includes('READ_ONLY')) context.skip(outcome);
    expect(outcome).toContain('READ_ONLY');
  });
});

/** Why it cannot be tried, or undefined when all was as it should be. */
async function freezeUnder(open: (queue: SqliteQueue) => Queue): Promise<string | undefined> {
  const made = openQueue();
  const queue = open(made);
  await queue.push(message('a'));
  // Not even the superuser may write then, nor whoever has the files open.
  const freeze = (sign: string): number | null =>
    spawnSync('chattr', ['-R', `${sign}i`, made.folder.path]).status;
  onTestFinished(() => void freeze('-'));
  if (freeze('+') !== 0) return 'files cannot be made immutable here';
  await failure(queue.push(message('b')), 'READ_ONLY');
  await failure(made.subscribe({ consumer: 'w', handler: 'true' }), 'READ_ONLY');
  expect(await made.peek({ lastEventId: 0 })).toHaveLength(1);
  freeze('-');
  expect(await made.push(message('c'))).toBe(2);
  return undefined;
}

describe('a database that is damaged', { timeout: 60_000 }, () => {
  it('is told, also to who reads the log', async () => {
    const queue = openQueue();
    await queue.push(message('a'));
    await queue.close();
    writeFileSync(queue.folder.database, 'x'.repeat(5000));
    const again = openQueue(queue.folder.path);
    await failure(again.push(message('b')), 'CORRUPT');
    await failure(again.info(), 'CORRUPT');
    const [, ...lines] = readFileSync(queue.folder.log, 'utf8').split('\n').slice(0, -1);
    const told = /^\[[^\]]+Z\] \[ERROR\] SQLite: events\.db in \S+ is damaged: /;
    expect(lines.map((line) => told.test(line))).toEqual([true, true]);
  });
});

describe('a folder that is deleted while it is in use', { timeout: 60_000 }, () => {
  it('acknowledges nothing that nobody can read', async () => {
    const queue = openQueue();
    await queue.push(message('a'));
    rmSync(queue.folder.path, { recursive: true });
    await failure(queue.push(message('b')), 'NOT_FOUND');
    expect(existsSync(queue.folder.path)).toBe(false);
  });

  it('would be written to by a program that does not look', () => {
    const path = freshFolder();
    openQueue(path);
    const database = new Database(queueFolder(path).database);
    onTestFinished(() => database.close());
    database.pragma('journal_mode = WAL');
    const insert = database.prepare(
      "INSERT INTO events (source, type, content) VALUES ('s', 'message', 'x')",
    );
    insert.run();
    rmSync(path, { recursive: true });
    expect(insert.run().changes).toBe(1);
    expect(existsSync(path)).toBe(false);
  });
});
