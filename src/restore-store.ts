import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { invalid } from './base/errors.ts';
import { restoreStore as restoreFiles } from './engine/files/backup/backup-store.ts';
import { nodeIo } from './engine/files/disk/node-io.ts';
import type { Progress } from './engine/progress.ts';
import { type BackupReport, type FileCopies, withCopies } from './engine/upkeep.ts';

/**
 * Makes a store in the folder `to` from a backup. Refuses a folder with anything in it (INVALID) and
 * a backup that is damaged (CORRUPT, with the place).
 */
export async function restoreStore(
  from: string,
  to: string,
  progress?: Progress,
): Promise<BackupReport> {
  for (const [what, path] of Object.entries({ from, to })) {
    if (typeof path !== 'string' || path === '') throw invalid(what, 'names a folder');
  }
  const report = await restoreFiles(nodeIo, from, to, progress);
  const copies: FileCopies[] = [];
  const queues = join(from, 'queues');
  if (existsSync(queues)) {
    const { copyQueues } = await import('./queue/upkeep/queue-health.ts');
    copies.push(await copyQueues(queues, join(to, 'queues')));
  }
  if (existsSync(join(from, 'sessions'))) copies.push(await restoreSessionFiles(from, to));
  return withCopies(report, copies);
}

async function restoreSessionFiles(from: string, to: string): Promise<FileCopies> {
  const [{ openFilesEngine }, { plainFilesIo }, { Registry }, { restoreSessions }] =
    await Promise.all([
      import('./engine/files/open-files-engine.ts'),
      import('./engine/files/disk/plain-files-io.ts'),
      import('./session/records/registry.ts'),
      import('./session/keep/backup-sessions.ts'),
    ]);
  const engine = await openFilesEngine(to);
  try {
    const home = { io: plainFilesIo, registry: new Registry(engine) };
    return await restoreSessions(home, resolve(from, 'sessions'), resolve(to, 'sessions'));
  } finally {
    await engine.close();
  }
}
