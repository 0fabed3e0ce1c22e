/**
 * Invariant: a dispatch returns soon, however many events nobody has looked at yet, and every consumer that has one to
 * handle gets its handler run, however far it is.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { createQueueFolder } from '../../src/queue/sqlite/open-database.ts';
import type { DispatchReport } from '../../src/queue/events/queue.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { QueueDatabase } from '../../src/queue/sqlite/queue-database.ts';
import { projectPath } from '../support/project.ts';
import { message } from './fixture.ts';
import { SUPERVISOR, ThreadRig, eventually } from './rig.ts';

const NEAR_SIGHTED = projectPath('test/queue/near-sighted-supervisor.mjs');
const EVENTS = 25_000;

interface Found {
  /** By each consumer. */
  readonly handled: Record<string, string[]>;
  /** What a second dispatch had left to do, and how far nothing was found for `none`. */
  readonly again: DispatchReport;
  readonly clearTo: number | undefined;
}

async function dispatchFar(supervisor: string): Promise<Found> {
  const rig = new ThreadRig();
  createQueueFolder(rig.inbox);
  const queue = new SqliteQueue(queueFolder(rig.inbox), { supervisor, wakes: false });
  const database = new QueueDatabase(queue.folder.database);
  onTestFinished(async () => {
    await eventually(() => rig.isQuiet);
    database.close();
    await queue.close();
    rig[Symbol.dispose]();
  });
  const many = Array.from({ length: EVENTS - 1 }, () => message('x', 'a'));
  await queue.pushBatch([...many, message('x', 'z')]);
  const filters = {
    far: "source LIKE 'z%'",
    near: "source LIKE 'a%' AND id < 3",
    none: "source LIKE 'y%'",
  };
  for (const [consumer, filter] of Object.entries(filters)) {
    await queue.subscribe({ consumer, handler: rig.handler(), filter });
  }
  const reason = 'looking further in the background';
  expect(await queue.dispatch()).toEqual({
    started: ['near'],
    skipped: [
      { consumer: 'far', reason },
      { consumer: 'none', reason },
    ],
  });
  await eventually(() => rig.isQuiet);
  const handled = Object.keys(filters).map((name) => [name, rig.notesOf(name, 'handled')]);
  const clearTo = database.known('none').bookmark?.to_id;
  return {
    handled: Object.fromEntries(handled) as Found['handled'],
    again: await queue.dispatch(),
    clearTo,
  };
}

describe('events that are far away', { timeout: 60_000 }, () => {
  it('are found, and those near by do not wait for that', async () => {
    const handled = { far: [`${EVENTS}`], near: ['1', '2'], none: [] };
    const again = { started: [], skipped: [] };
    expect(await dispatchFar(SUPERVISOR)).toEqual({ handled, again, clearTo: EVENTS });
  });

  it('would be missed if nobody went on looking', async () => {
    const { handled } = await dispatchFar(NEAR_SIGHTED);
    expect(handled).toEqual({ far: [], near: ['1', '2'], none: [] });
  });
});
