import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { invalid } from './base/errors.ts';
import { restoreStore as restoreFiles } from './engine/files/backup/restore-store.ts';
import { nodeIo } from './engine/files/node-io.ts';
import type { Progress } from './engine/progress.ts';
import type { BackupReport } from './engine/upkeep.ts';

/**
 * Makes a store in the folder `to` from a backup. Refuses a folder with anything in it (INVALID) and
 * a backup that is damaged (CORRUPT, with the place).
 */
export async function restoreStore(
  from: string,
  to: string,
  progress?: Progress,
): Promise<BackupReport> {
  for (const [what, path] of [
    ['from', from],
    ['to', to],
  ] as const) {
    if (typeof path !== 'string' || path === '') throw invalid(what, 'names a folder');
  }
  const report = await restoreFiles(nodeIo, from, to, progress);
  const queues = join(from, 'queues');
  if (!existsSync(queues)) return report;
  const { copyQueues } = await import('./queue/copy-queues.ts');
  const { files, bytes } = await copyQueues(queues, join(to, 'queues'));
  return { ...report, files: report.files + files, copiedBytes: report.copiedBytes + bytes };
}
