import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import { plainFilesIo } from '../engine/files/disk/plain-files-io.ts';
import type { FileCopies, Problem } from '../engine/upkeep.ts';
import { awayView } from '../session/keep/away-sessions.ts';
import { backUpSessions } from '../session/keep/backup-sessions.ts';
import { checkSessions } from '../session/keep/check-sessions.ts';
import { Registry } from '../session/records/registry.ts';

interface ProblemsAsked {
  readonly folder: string | undefined;
  readonly away: boolean;
  readonly known: readonly Problem[];
}

/** Finds problems with the files of sessions on this machine, beyond `known`. */
export async function findSessionProblems(
  engine: Engine,
  { folder, away, known }: ProblemsAsked,
): Promise<Problem[]> {
  const registry = new Registry(away ? awayView(engine) : engine);
  const root = folder === undefined ? undefined : join(folder, 'sessions');
  const here = { io: plainFilesIo, registry, host: hostname(), root };
  const said = new Set(known.map(({ file, offset }) => `${offset} ${file}`));
  const found: Problem[] = [];
  for await (const problem of checkSessions(here)) {
    // The process that answers for the store may be on this machine, too.
    if (!said.has(`${problem.offset} ${problem.file}`)) found.push(problem);
  }
  return found;
}

/** Copies the sessions of the store in `folder`, for a backup at `to`. */
export function copySessions(engine: Engine, folder: string, to: string): Promise<FileCopies> {
  const home = { io: plainFilesIo, registry: new Registry(engine) };
  return backUpSessions(home, join(folder, 'sessions'), join(to, 'sessions'));
}
