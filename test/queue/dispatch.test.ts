import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newToken, readLock, writeLock } from '../../src/queue/dispatch/consumer-lock.ts';
import { isRunning, markOf } from '../../src/queue/dispatch/run-handler.ts';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { createQueueFolder } from '../../src/queue/sqlite/open-database.ts';
import type { ConsumerProgress, NewEvent } from '../../src/queue/events/queue.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { BROKEN_SUPERVISOR, ONE_BY_ONE, SUPERVISOR, ThreadRig, eventually } from './rig.ts';

const EVENT: NewEvent = { source: 'self', type: 'message', content: 'x' };

function open(supervisor = SUPERVISOR, wakes = true): { rig: ThreadRig; queue: SqliteQueue } {
  const rig = new ThreadRig();
  createQueueFolder(rig.inbox);
  const queue = new SqliteQueue(queueFolder(rig.inbox), { supervisor, wakes });
  onTestFinished(async () => {
    rmSync(join(rig.notes, 'hold'), { force: true });
    await eventually(() =>
      ['a', 'b', 'c'].every((name) => readLock(queue.folder, name) === undefined),
    );
    await queue.close();
    rig[Symbol.dispose]();
  });
  return { rig, queue };
}

/** Pushes when the handler has seen that nothing is left and has not ended yet. */
async function pushAtTheLastMoment(supervisor: string): Promise<string[]> {
  const { rig, queue } = open(supervisor, false);
  const hold = join(rig.notes, 'hold');
  writeFileSync(hold, '');
  await queue.subscribe({ consumer: 'a', handler: rig.handler() });
  await queue.push(EVENT);
  await queue.dispatch();
  await eventually(() => rig.notesOf('a', 'ending').length === 1);
  await queue.push(EVENT);
  expect(await queue.dispatch()).toEqual({
    started: [],
    skipped: [{ consumer: 'a', reason: 'lock held' }],
  });
  rmSync(hold);
  await eventually(() => readLock(queue.folder, 'a') === undefined);
  return rig.notesOf('a', 'handled');
}

describe('dispatch', () => {
  it('loses no wake-up between the last look and the end of a handler', async () => {
    expect(await pushAtTheLastMoment(SUPERVISOR)).toEqual(['1', '2']);
  });

  it('would lose it with a supervisor that does not look again', async () => {
    expect(await pushAtTheLastMoment(BROKEN_SUPERVISOR)).toEqual(['1']);
  });

  it('takes a lock whose holder is gone, and none whose holder lives', async () => {
    const { rig, queue } = open();
    await queue.push(EVENT);
    const self = markOf(process.pid)!;
    const stale = { ...self, started: `${self.started}0` };
    writeLock(queue.folder, 'a', { token: newToken(), supervisor: stale });
    writeLock(queue.folder, 'b', { token: newToken(), supervisor: self });
    writeFileSync(join(queue.folder.run, 'c.lock'), '');
    for (const consumer of ['a', 'b', 'c']) {
      await queue.subscribe({ consumer, handler: rig.handler() });
    }
    await eventually(() => rig.notesOf('c', 'handled').length === 1);
    await eventually(() => rig.notesOf('a', 'handled').length === 1);
    expect(rig.notesOf('b', 'handled')).toEqual([]);
    expect((await queue.info()).progress[1]).toMatchObject({ consumer_id: 'b', state: 'running' });
    rmSync(join(queue.folder.run, 'b.lock'));
  });

  it('goes on with the handler of a supervisor that was killed', async () => {
    const { rig, queue } = open();
    writeFileSync(join(rig.notes, 'hold'), '');
    await queue.subscribe({ consumer: 'a', handler: rig.handler() });
    await queue.push(EVENT);
    await eventually(() => rig.notesOf('a', 'ending').length === 1);
    const { supervisor } = readLock(queue.folder, 'a')!;
    process.kill(supervisor.pid, 'SIGKILL');
    await eventually(() => !isRunning(supervisor));
    await queue.push(EVENT);
    // The new supervisor waits for the handler that runs alone now.
    await eventually(async () => (await queue.dispatch()).skipped.length === 1);
    expect(rig.notesOf('a', 'runs')).toHaveLength(1);
    rmSync(join(rig.notes, 'hold'));
    await eventually(() => rig.notesOf('a', 'handled').length === 2);
    expect(rig.notesOf('a', 'twice')).toEqual([]);
  });

  it('lets one bad consumer fail alone, and tries it again', async () => {
    const bad = await runMissing(SUPERVISOR, 30_000);
    expect(bad).toMatchObject({ state: 'running', lag: 1 });
    expect(bad?.last_error).toMatch(/^exit 127: .*\/no\/such\/program/);
  });

  it('would be caught with a supervisor to which one end is like another', async () => {
    const bad = await runMissing(ONE_BY_ONE, 300);
    expect(bad).toMatchObject({ state: 'idle', lag: 1, failures: 0, last_error: null });
  });
});

/** What is known of a consumer whose handler does not exist, when it has failed twice or the time is over. */
async function runMissing(supervisor: string, ms: number): Promise<ConsumerProgress | undefined> {
  const { rig, queue } = open(supervisor);
  await queue.subscribe({ consumer: 'a', handler: '/no/such/program' });
  await queue.subscribe({ consumer: 'b', handler: rig.handler() });
  await queue.push(EVENT);
  await eventually(() => rig.notesOf('b', 'handled').length === 1);
  const failed = async (): Promise<boolean> =>
    ((await queue.info()).progress[0]?.failures ?? 0) >= 2;
  await eventually(failed, ms).catch(() => undefined);
  const [bad] = (await queue.info()).progress;
  await queue.unsubscribe('a');
  return bad;
}
