import type { Build } from '../build.ts';
import { sessionAppend } from '../commands/session-append.ts';
import { sessionArtifact } from '../commands/session-artifact.ts';
import { sessionCat } from '../commands/session-cat.ts';
import { sessionCreate } from '../commands/session-create.ts';
import { sessionExport } from '../commands/session-export.ts';
import { sessionFork } from '../commands/session-fork.ts';
import { sessionGc } from '../commands/session-gc.ts';
import { sessionImport } from '../commands/session-import.ts';
import { sessionList } from '../commands/session-list.ts';
import { sessionMove } from '../commands/session-move.ts';
import { sessionRecover } from '../commands/session-recover.ts';
import { sessionRm } from '../commands/session-rm.ts';
import { sessionShow } from '../commands/session-show.ts';

export const sessionCommands: readonly Build[] = [
  sessionCreate,
  sessionAppend,
  sessionList,
  sessionShow,
  sessionCat,
  sessionFork,
  sessionMove,
  sessionArtifact,
  sessionExport,
  sessionImport,
  sessionRm,
  sessionRecover,
  sessionGc,
];
