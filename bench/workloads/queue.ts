import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { NewEvent } from '../../src/queue/events/queue.ts';
import { queueFolder } from '../../src/queue/sqlite/queue-folder.ts';
import { SqliteQueue } from '../../src/queue/sqlite-queue.ts';
import { createQueueFolder, SCHEMA } from '../../src/queue/sqlite/open-database.ts';
import { cpuSecondsSince, median } from '../figures.ts';
import type { Result, Trial } from './workload.ts';

const CONTENT = 'x'.repeat(150);
const TIMES = 5;
const CONSUMERS = 100;
const FILL = 100_000;

export function events(count: number): NewEvent[] {
  return Array.from({ length: count }, (_, number) => ({
    source: `internal:dm:default:agent-${number % 10}`,
    type: 'message' as const,
    content: `event ${number} ${CONTENT}`,
  }));
}

function openQueue(folder: string): SqliteQueue {
  const path = join(folder, 'queue');
  createQueueFolder(path);
  return new SqliteQueue(queueFolder(path), { wakes: false });
}

export interface RawTable {
  readonly database: Database.Database;
  insert(event: NewEvent): void;
}

/** The same table with the same promise, and nothing else. */
export function openRaw(folder: string): RawTable {
  const database = new Database(join(folder, 'raw.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec(SCHEMA);
  const insert = database.prepare(
    'INSERT INTO events (source, type, subtype, content) VALUES (?, ?, ?, ?)',
  );
  return {
    database,
    insert: ({ source, type, content }) => void insert.run(source, type, null, content),
  };
}

/** One push and one raw insert in turns, so that both have the same disk. */
export async function queuePush({ folder, size }: Trial): Promise<Result> {
  const queue = openQueue(folder);
  const raw = openRaw(folder);
  const [pushed, inserted]: number[][] = [[], []];
  for (const event of events(size)) {
    const start = performance.now();
    await queue.push(event);
    const middle = performance.now();
    raw.insert(event);
    pushed?.push(middle - start);
    inserted?.push(performance.now() - middle);
  }
  await queue.close();
  return { pushP50Ms: median(pushed ?? []), rawP50Ms: median(inserted ?? []) };
}

/** The same rows in one transaction each, in turns, by the time that the processor spends. */
export async function queueBatch({ folder, size }: Trial): Promise<Result> {
  const queue = openQueue(folder);
  const raw = openRaw(folder);
  const batch = events(size);
  const [pushed, inserted, shares, wall]: number[][] = [[], [], [], []];
  for (let round = 0; round < TIMES; round += 1) {
    const before = process.cpuUsage();
    raw.database.transaction(() => batch.forEach((event) => raw.insert(event)))();
    const least = cpuSecondsSince(before);
    const start = process.cpuUsage();
    const startMs = performance.now();
    await queue.pushBatch(batch);
    wall?.push((performance.now() - startMs) / 1000);
    const taken = cpuSecondsSince(start);
    inserted?.push(least);
    pushed?.push(taken);
    shares?.push(least / taken);
  }
  await queue.close();
  return {
    pushSeconds: median(pushed ?? []),
    rawSeconds: median(inserted ?? []),
    wallSeconds: median(wall ?? []),
    share: median(shares ?? []),
  };
}

/** Pops of 100, and dispatches for 100 consumers whose filters match nothing new. */
export async function queueRead({ folder, size }: Trial): Promise<Result> {
  const queue = openQueue(folder);
  for (let left = size; left > 0; left -= FILL) await queue.pushBatch(events(Math.min(FILL, left)));
  await queue.subscribe({ consumer: 'all', handler: 'true' });
  const pops: number[] = [];
  for (let round = 0; round < 200; round += 1) {
    const lastEventId = Math.floor((size / 2) * (round / 200));
    const start = performance.now();
    await queue.pop('all', { lastEventId, limit: 100 });
    pops.push(performance.now() - start);
  }
  await queue.pop('all', { lastEventId: size });
  for (let number = 1; number < CONSUMERS; number += 1) {
    const filter =
      number % 2 === 0 ? `source LIKE '%:nobody-${number}'` : `source = 'nobody-${number}'`;
    await queue.subscribe({ consumer: `c${number}`, handler: 'true', filter });
  }
  const firstStart = performance.now();
  await queue.dispatch();
  const firstMs = performance.now() - firstStart;
  // The rest is looked through in the background.
  while (readdirSync(queue.folder.run).length > 0) await setTimeout(20);
  const lookMs = performance.now() - firstStart;
  const dispatches: number[] = [];
  for (let round = 0; round < TIMES; round += 1) {
    const id = await queue.push({ source: 'self', type: 'message', content: 'x' });
    await queue.pop('all', { lastEventId: id });
    const start = performance.now();
    await queue.dispatch();
    dispatches.push(performance.now() - start);
  }
  await queue.close();
  const [popP50Ms, dispatchMs] = [median(pops), median(dispatches)];
  return { popP50Ms, dispatchMs, firstDispatchMs: firstMs, lookMs };
}
