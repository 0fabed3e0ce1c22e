import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newToken, readLock, writeLock } from '../../src/queue/dispatch/consumer-lock.ts';
import { markOf, RETRY_POLICY, pauseMs } from '../../src/queue/dispatch/run-handler.ts';
import { superviseConsumer } from '../../src/queue/dispatch/supervise.ts';
import { RuntimeLog } from '../../src/queue/sqlite/runtime-log.ts';
import { QueueDatabase } from '../../src/queue/sqlite/queue-database.ts';
import type { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { message, openQueue } from './fixture.ts';

/** Runs the handler of `w` in this process, with short pauses. */
async function supervise({ folder }: SqliteQueue): Promise<void> {
  const database = new QueueDatabase(folder.database);
  onTestFinished(() => database.close());
  const log = new RuntimeLog(folder, database, Date.now);
  const retry = { attempts: 3, firstPauseMs: 1, maxPauseMs: 2 };
  const token = newToken();
  writeLock(folder, 'w', { token, supervisor: markOf(process.pid)! });
  await superviseConsumer({ folder, database, log, retry, clock: Date.now }, 'w', { token });
  expect(readLock(folder, 'w')).toBeUndefined();
}

describe('a supervisor', () => {
  it('gives up a handler that always fails, then tries it once a dispatch, and forgets when it works', async () => {
    const queue = openQueue();
    const mended = join(queue.folder.path, 'mended');
    const runs = join(queue.folder.path, 'runs');
    const handler = `echo run >> ${runs}; echo broken >&2; test -e ${mended}`;
    await queue.subscribe({ consumer: 'w', handler });
    await queue.push(message('a'));
    await supervise(queue);
    const state = async (): Promise<unknown> => (await queue.info()).progress[0];
    expect(await state()).toMatchObject({
      state: 'failed',
      failures: 3,
      last_error: 'exit 1: broken',
    });
    await supervise(queue);
    expect(await state()).toMatchObject({ state: 'failed', failures: 4, lag: 1 });
    writeFileSync(mended, '');
    await supervise(queue);
    expect(await state()).toMatchObject({ state: 'idle', failures: 0, last_error: null });
    expect(existsSync(runs)).toBe(true);
  });

  it('counts the failures that a supervisor before it has noted', async () => {
    const queue = openQueue();
    const runs = join(queue.folder.path, 'runs');
    await queue.subscribe({ consumer: 'w', handler: `echo run >> ${runs}; exit 1` });
    await queue.push(message('a'));
    const database = new QueueDatabase(queue.folder.database);
    const noted = { consumer_id: 'w', failures: 2, failed: false, last_error: 'exit 1' };
    database.setFailure(noted, new Date().toISOString());
    database.close();
    await supervise(queue);
    expect((await queue.info()).progress[0]).toMatchObject({ state: 'failed', failures: 3 });
    expect(readFileSync(runs, 'utf8')).toBe('run\n');
  });

  it('does not run one again that acknowledges nothing, and ends when it is unsubscribed', async () => {
    const queue = openQueue();
    const runs = join(queue.folder.path, 'runs');
    await queue.subscribe({ consumer: 'w', handler: `test ! -e ${runs} && touch ${runs}` });
    await queue.push(message('a'));
    await supervise(queue);
    expect((await queue.info()).progress[0]).toMatchObject({ lag: 1, failures: 0 });
    await queue.unsubscribe('w');
    await supervise(queue);
    expect((await queue.info()).progress).toEqual([]);
  });

  it('waits longer after each failure, and never for ever', () => {
    const pauses = [1, 2, 3, 4, 9, 20].map((failures) => pauseMs(RETRY_POLICY, failures));
    expect(pauses).toEqual([100, 200, 400, 800, 25_600, 30_000]);
  });
});
