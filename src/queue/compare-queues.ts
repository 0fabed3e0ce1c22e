import { join } from 'node:path';
import Database from 'better-sqlite3';
import { isQueueFolder, listQueueFolders, queueFolder } from './folder.ts';
import { toQueueError } from './sqlite/queue-error.ts';

interface EventRow {
  readonly id: number;
}

interface ProgressRow {
  readonly consumer_id: string;
  readonly last_acked_id: number;
}

/**
 * What the queues in `to` hold beyond those in `from`, of which they may be an earlier copy: the first such thing, or
 * undefined. Events are compared one by one; a consumer may not be further than it is in `from`.
 */
export function findQueueBeyond(from: string, to: string): string | undefined {
  for (const name of listQueueFolders(to)) {
    if (!isQueueFolder(join(from, name))) return `queue ${name} is not among the source's`;
    const mine = open(join(to, name));
    try {
      const theirs = open(join(from, name));
      try {
        const beyond = findBeyond(theirs, mine);
        if (beyond !== undefined) return `queue ${name} has ${beyond}, which the source's has not`;
      } finally {
        theirs.close();
      }
    } catch (error) {
      throw toQueueError(error, join(to, name));
    } finally {
      mine.close();
    }
  }
  return undefined;
}

function open(path: string): Database.Database {
  return new Database(queueFolder(path).database, { fileMustExist: true, readonly: true });
}

function findBeyond(theirs: Database.Database, mine: Database.Database): string | undefined {
  const sameEvent = theirs.prepare('SELECT * FROM events WHERE id = ?');
  for (const row of mine.prepare<[], EventRow>('SELECT * FROM events ORDER BY id').iterate()) {
    if (JSON.stringify(row) !== JSON.stringify(sameEvent.get(row.id))) return `event ${row.id}`;
  }
  const progress = theirs.prepare<[string], ProgressRow>(
    'SELECT * FROM consumer_progress WHERE consumer_id = ?',
  );
  for (const row of mine.prepare<[], ProgressRow>('SELECT * FROM consumer_progress').all()) {
    const known = progress.get(row.consumer_id)?.last_acked_id ?? -1;
    if (row.last_acked_id > known) return `progress of ${row.consumer_id}`;
  }
  return undefined;
}
