import type { Build } from '../build.ts';
import { backup } from '../commands/backup.ts';
import { copy } from '../commands/copy.ts';
import { checkpoint } from '../commands/checkpoint.ts';
import { doctor } from '../commands/doctor.ts';
import { gc } from '../commands/gc.ts';
import { init } from '../commands/init.ts';
import { reindex } from '../commands/reindex.ts';
import { restore } from '../commands/restore.ts';
import { retain } from '../commands/retain.ts';
import { serve } from '../commands/serve.ts';
import { stats } from '../commands/stats.ts';
import { verify } from '../commands/verify.ts';

/** What a store begins with. */
export const firstCommands: readonly Build[] = [init, serve];

export const upkeepCommands: readonly Build[] = [
  stats,
  gc,
  verify,
  backup,
  restore,
  copy,
  retain,
  checkpoint,
  reindex,
  doctor,
];
