import type { BackupReport } from '../engine/upkeep.ts';
import { toSize } from './quantity.ts';
import { toFacts } from './table.ts';

/** The result of a backup or a restore, for people. */
export function toBackupFacts({ files, copiedBytes, reusedBytes }: BackupReport): string {
  return toFacts([
    ['files', String(files)],
    ['copied', toSize(copiedBytes)],
    ['there before', toSize(reusedBytes)],
  ]);
}
