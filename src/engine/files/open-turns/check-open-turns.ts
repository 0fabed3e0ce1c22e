import type { State } from '../truth/state.ts';
import { isQuipuError } from '../../../base/errors.ts';
import type { Problem } from '../../upkeep.ts';
import { unlessCorrupt } from '../disk/io-error.ts';
import { OPEN_FOLDER, openTurnFile, openTurnNumber, readAbandoned } from './open-turn-file.ts';
import { mayBeOpen } from './abandoned-turns.ts';
import type { Check } from '../truth/check.ts';

/** Checks open turns and their files: each has the other, and the text is what was acknowledged. */
export async function checkOpenTurns(check: Check): Promise<void> {
  const { core, files, writer } = check;
  const ids = new Set(core.openTurns.keys());
  for (const name of await files.io.list(files.pathOf(OPEN_FOLDER))) {
    const file = `${OPEN_FOLDER}/${name}`;
    const id = openTurnNumber(file);
    if (id !== undefined) ids.add(id);
    else await addStray(check, file, 'this is no file of an open turn', 'stale');
  }
  // Deltas may arrive at any moment. While no commit runs, file and memory must agree.
  for (const id of ids) await writer.exclusively(() => checkOpenTurn(check, id));
}

/** A repair copies the file and removes it: nothing reads it, and it would stay here forever. */
async function addStray(
  { files, findings }: Check,
  file: string,
  what: string,
  severity: Problem['severity'],
): Promise<void> {
  const length = await files.size(file);
  findings.add({ what, file, offset: 0, length, severity, remedy: 'stray' });
}

async function checkOpenTurn(check: Check, id: number): Promise<void> {
  const { core, files, findings } = check;
  const file = openTurnFile(id);
  const about = { file, id: String(id), severity: 'lost' } as const;
  const open = core.openTurns.get(id);
  const size = await files.size(file);
  if (open === undefined) {
    if ((await files.io.stat(files.pathOf(file))) === undefined) return;
    const stray = `turn ${id} is not open, and has the file of an open turn`;
    if (!(await mayBeOpen(core, id))) return addStray(check, file, stray, 'stale');
    // Once its type is declared again, the next opening finds the turn and ends it.
    if (await lacksType(core, id)) {
      findings.add({
        ...about,
        what: `the type of open turn ${id} is not declared`,
        offset: 0,
        length: 0,
      });
      return;
    }
    const what = `the file of open turn ${id} is damaged, and nobody can go on with it`;
    return addStray(check, file, what, 'lost');
  }
  try {
    const { record, text } = await readAbandoned(files, id);
    const same = text.length === open.row.size && record.context === open.row.context;
    if (same) return;
    const what = `the file of open turn ${id} does not hold what was acknowledged`;
    findings.add({ ...about, what, offset: size, length: 0 });
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    const { offset } = error.data;
    const what = `the file of open turn ${id} is damaged`;
    findings.add({ ...about, what, offset, length: Math.max(0, size - offset) });
  }
}

/** True when the only problem is that the turn's type is damaged. */
export async function lacksType(core: State, id: number): Promise<boolean> {
  const found = await unlessCorrupt(() => readAbandoned(core.files, id));
  return found !== undefined && !core.types.has(found.record.typeTag);
}
