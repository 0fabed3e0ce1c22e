import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Database } from '../../base/sqlite.ts';
import type { FileCopies } from '../../engine/upkeep.ts';
import { makeFolder, syncPath, listQueueFolders, queueFolder } from '../folder/queue-folder.ts';
import { toQueueError } from '../folder/queue-error.ts';

// Backups of queues. A backup copies only the database. The mirror is written again from it. Logs, locks and files that
// were put aside belong to one machine and one time.

/**
 * Copies the database of every queue, each as it was at one moment, while it is in use. A copy appears under its
 * name only when it is whole and on the disk.
 */
export async function copyQueues(from: string, to: string): Promise<FileCopies> {
  let files = 0;
  let bytes = 0;
  for (const name of listQueueFolders(from)) {
    const source = queueFolder(join(from, name));
    const target = queueFolder(join(to, name));
    const partial = `${target.database}.new`;
    try {
      makeFolder(target.path);
      rmSync(partial, { force: true });
      writeFileSync(partial, '', { mode: 0o600 });
      await copyDatabase(source.database, partial);
      syncPath(partial);
      renameSync(partial, target.database);
      syncPath(target.path);
    } catch (error) {
      throw toQueueError(error, target.path);
    }
    files += 1;
    bytes += statSync(target.database).size;
  }
  return { files, bytes };
}

async function copyDatabase(from: string, to: string): Promise<void> {
  const database = new Database(from, { access: 'read' });
  try {
    await database.backup(to);
  } finally {
    database.close();
  }
}
