import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Database } from '../../../src/postgres/database.ts';
import type { OwnedQueues, Queue } from '../../../src/queue/events/queue.ts';
import { createPostgresQueues } from '../../../src/queue/postgres/postgres-queue.ts';
import { freshDatabase } from '../../support/postgres/fresh-database.ts';

let shared: Promise<string> | undefined;
let schemas = 0;

/** Tables of its own in a database that the tests of this process share. */
export async function freshSchema(): Promise<string> {
  shared ??= freshDatabase();
  schemas += 1;
  const address = new URL(await shared);
  address.searchParams.set('schema', `test_${schemas}`);
  return address.href;
}

export interface QueueRig {
  readonly url: string;
  readonly database: Database;
  readonly queues: OwnedQueues;
  readonly inbox: Queue;
  /** Where handlers note things. */
  readonly notes: string;
  noted(name: string): string[];
}

/** A queue `inbox`, and a place for notes. Gone when the test is over. */
export async function openRig(url?: string): Promise<QueueRig> {
  const place = url ?? (await freshSchema());
  const database = new Database(place, { connections: 4 });
  const queues = createPostgresQueues(database);
  const notes = mkdtempSync(join(tmpdir(), 'quipu-notes-'));
  onTestFinished(async () => {
    await queues.close();
    await database.close();
    rmSync(notes, { recursive: true, force: true, maxRetries: 5 });
  });
  const noted = (name: string): string[] => {
    const path = join(notes, name);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  };
  return { url: place, database, queues, inbox: await queues.open('inbox'), notes, noted };
}
