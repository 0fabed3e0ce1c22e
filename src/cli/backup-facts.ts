import type { BackupReport } from '../engine/upkeep.ts';
import { toSize } from './quantity.ts';
import { toFacts } from './table.ts';

/** What a backup or a restore did, for people. */
export function toBackupFacts({ files, copiedBytes, reusedBytes }: BackupReport): string {
  return toFacts([
    ['files', String(files)],
    ['copied', toSize(copiedBytes)],
    ['there before', toSize(reusedBytes)],
  ]);
}
