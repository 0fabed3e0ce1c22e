import { isQuipuError } from '../../../base/errors.ts';
import { OPEN_FOLDER, openTurnFile, openTurnNumber } from '../names.ts';
import { readAbandoned } from '../open-turn-file.ts';
import type { Check } from './check.ts';

/** Open turns and their files: each has the other, and the text is what was acknowledged. */
export async function checkOpenTurns(check: Check): Promise<void> {
  const { core, files, writer } = check;
  const names = await files.io.list(files.pathOf(OPEN_FOLDER));
  const ids = names.map((name) => openTurnNumber(`${OPEN_FOLDER}/${name}`) ?? 0);
  // Deltas may arrive at any moment; while no commit runs, file and memory must agree.
  for (const id of new Set([...ids, ...core.openTurns.keys()])) {
    if (id !== 0) await writer.exclusively(() => checkOpenTurn(check, id));
  }
}

async function checkOpenTurn({ core, files, findings }: Check, id: number): Promise<void> {
  const file = openTurnFile(id);
  const about = { file, id: String(id), severity: 'lost' } as const;
  const open = core.openTurns.get(id);
  const size = await files.size(file);
  if (open === undefined && size === 0) return;
  if (open === undefined) {
    const what = `turn ${id} is not open, and has the file of an open turn`;
    findings.add({ ...about, what, offset: 0, length: size });
    return;
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
