import { join } from 'node:path';
import { Database } from '../../base/sqlite.ts';
import type { IdRange } from '../events/scan.ts';
import { mirrorEnd } from '../folder/mirror-lines.ts';
import {
  listLostQueues,
  listQueueFolders,
  queueFolder,
  type QueueFolder,
} from '../folder/queue-folder.ts';
import { checkEvents, isBehindMirror } from '../sqlite/mend-events.ts';
import { QueueDatabase } from '../sqlite/queue-database.ts';

export interface QueueProblem {
  readonly queue: string;
  readonly what: string;
}

/** The largest number of problems reported for one queue. */
const PROBLEMS_MAX = 10;

/** Reads every event of every queue in a folder, and returns the problems. */
export async function checkQueues(parent: string): Promise<QueueProblem[]> {
  const problems: QueueProblem[] = [];
  for (const queue of [...listQueueFolders(parent), ...listLostQueues(parent)].toSorted()) {
    const found = await verifyQueue(queueFolder(join(parent, queue)));
    problems.push(...found.map((what) => ({ queue, what })));
  }
  return problems;
}

/** Returns the problems of one queue: none when all of it can be read and is what was pushed. */
export async function verifyQueue(folder: QueueFolder): Promise<string[]> {
  const damage = checkDatabase(folder.database);
  if (damage.length > 0) {
    const end = mirrorEnd(folder);
    return end === 0 ? damage : [...damage, `events.jsonl has events up to ${end}`];
  }
  const database = new QueueDatabase(folder.database);
  try {
    const { damaged, missing } = await checkEvents(database);
    const newest = database.newestId();
    return [
      ...damaged.slice(0, PROBLEMS_MAX).map((id) => `event ${id} is damaged`),
      ...missing.slice(0, PROBLEMS_MAX).map((range) => `${nameRange(range)} missing`),
      ...(isBehindMirror(folder, database)
        ? [`events.jsonl goes on to ${mirrorEnd(folder)}, and events.db ends with ${newest}`]
        : []),
    ];
  } catch (error) {
    return [(error as Error).message];
  } finally {
    database.close();
  }
}

export function nameRange({ after, through }: IdRange): string {
  return through === after + 1 ? `event ${through} is` : `events ${after + 1} to ${through} are`;
}

/** Returns what SQLite reports about its own file. */
export function checkDatabase(path: string): string[] {
  try {
    const database = new Database(path, { access: 'read' });
    try {
      const sql = `PRAGMA integrity_check(${PROBLEMS_MAX})`;
      const found = database.prepare<[], { integrity_check: string }>(sql).all();
      return found.map((row) => row.integrity_check).filter((what) => what !== 'ok');
    } finally {
      database.close();
    }
  } catch (error) {
    return [`events.db cannot be read: ${(error as Error).message}`];
  }
}
