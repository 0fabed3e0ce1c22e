import { join } from 'node:path';
import { Database } from '../../src/base/sqlite.ts';
import {
  compareBeginnings,
  copyQueues,
  type QueueCounts,
} from '../../src/maintain/copy/copy-queues.ts';
import { createQueues } from '../../src/queue/sqlite-queue.ts';
import type { QueueRecords } from '../../src/queue/upkeep/queue-records.ts';

/** More than one page of a copy. */
export const TWO_PAGES = 2101;

/** Queues with all that one can have, in a folder of queues. Nothing starts a handler. */
export async function fillQueues(parent: string, events: number): Promise<void> {
  const queues = createQueues(parent, { wakes: false });
  const jobs = await queues.open('jobs');
  await jobs.pushBatch(
    Array.from({ length: events }, (_, at) => ({
      source: at % 3 === 0 ? 'self' : 'internal:task:one:agent',
      type: at % 2 === 0 ? ('message' as const) : ('record' as const),
      subtype: at % 5 === 0 ? 'note' : null,
      content: `{"n":${at},"text":"ü\0\u0001"}`,
    })),
  );
  await jobs.subscribe({ consumer: 'all', handler: 'exit 0' });
  await jobs.subscribe({ consumer: 'some', handler: 'exit 1', filter: "source = 'self'" });
  await jobs.subscribe({ consumer: 'gone', handler: 'exit 2' });
  await jobs.pop('all', { lastEventId: events - 1 });
  await jobs.pop('gone', { lastEventId: 7 });
  await jobs.unsubscribe('gone');
  const chat = await queues.open('chat');
  await chat.push({ source: 'self', type: 'message', content: '' });
  await chat.subscribe({ consumer: 'late', handler: 'cat' });
  await queues.open('empty');
  await queues.close();
  noteFailure(join(parent, 'jobs', 'events.db'));
}

function noteFailure(path: string): void {
  const database = new Database(path);
  database
    .prepare('INSERT INTO consumer_failures VALUES (?, ?, ?, ?, ?)')
    .run('some', 10, 1, 'exit 1: what\0ever', '2026-01-01T00:00:00.000Z');
  database.close();
}

export async function copyAll(from: QueueRecords, to: QueueRecords): Promise<QueueCounts> {
  const pair = { from, to, progress: () => undefined, pause: () => undefined };
  await compareBeginnings(pair);
  return copyQueues(pair);
}

/** Every event and consumer, in a form that compares. */
export async function tellQueues(records: QueueRecords): Promise<unknown> {
  const told: unknown[] = [];
  for (const name of await records.names()) {
    const events: unknown[] = [];
    for (let after = 0; ;) {
      const page = await records.events(name, after);
      const last = page.at(-1);
      if (last === undefined) break;
      events.push(...page.map((event) => ({ ...event })));
      after = last.id;
    }
    told.push({ name, ...(await records.state(name)), events });
  }
  return told;
}

/** The records with some of their methods replaced. */
export function withQueueChanges(
  records: QueueRecords,
  changes: Partial<QueueRecords>,
): QueueRecords {
  return {
    names: () => records.names(),
    state: (queue) => records.state(queue),
    events: (queue, after) => records.events(queue, after),
    assertFits: (queue, state) => records.assertFits(queue, state),
    adoptEvents: (queue, adopted) => records.adoptEvents(queue, adopted),
    adoptConsumers: (queue, state) => records.adoptConsumers(queue, state),
    check: () => records.check(),
    close: () => records.close(),
    ...changes,
  };
}

/** Fails at its first write, after it was carried out when `late` says so. */
function cutOff(records: QueueRecords, late: boolean): QueueRecords {
  const cut = async (write: Promise<void> | undefined): Promise<void> => {
    await write;
    throw new Error('cut off');
  };
  return withQueueChanges(records, {
    adoptEvents: (...given) => cut(late ? records.adoptEvents(...given) : undefined),
    adoptConsumers: (...given) => cut(late ? records.adoptConsumers(...given) : undefined),
  });
}

/** Cuts a copy off at every write, before it and after it, and returns how often. */
export async function copyCutOff(
  from: QueueRecords,
  openTarget: () => QueueRecords,
): Promise<number> {
  for (let cuts = 0; ; cuts += 1) {
    const target = openTarget();
    const done = await copyAll(from, cutOff(target, cuts % 2 === 1)).then(
      () => true,
      (error: unknown) => {
        if ((error as Error).message !== 'cut off') throw error;
        return false;
      },
    );
    target.close();
    if (done) return cuts;
  }
}
