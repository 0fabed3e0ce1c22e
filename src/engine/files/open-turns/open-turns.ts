import { isQuipuError } from '../../../base/errors.ts';
import type { Problem } from '../../upkeep.ts';
import { unlessCorrupt } from '../disk/io-error.ts';
import { listFolder } from '../disk/folders.ts';
import type { Check } from '../truth/check.ts';
import type { CopyJob } from '../truth/copy.ts';
import type { State } from '../truth/state.ts';
import { cannot, type Truth } from '../truth/truth.ts';
import {
  OPEN_FOLDER,
  mayBeOpen,
  openTurnFile,
  openTurnNumber,
  readAbandoned,
} from './open-turn-file.ts';

// Turns that are being streamed into: one file for each, with its record and its text.   docs/format/turns.md
// Invariants
// - A turn is open when its file exists and its slot in turns.log is empty. A record outweighs a file.
// - The file has every acknowledged byte, and the head of the context has their number.
// - The file goes in the frame that writes the record. A crash leaves the file, and the next opening ends the turn.

export const OPEN_TURNS: Truth = {
  name: 'open-turns',
  folders: [OPEN_FOLDER],
  files: [],
  owns: (path) => openTurnNumber(path) !== undefined,
  // Each head knows the length of its open turn.
  lengths: () => [],
  /** An open turn has its id and no record yet: the id counts as taken. */
  advance(tails, { kind, path }) {
    const turn = kind === 'bytes' ? openTurnNumber(path) : undefined;
    return turn === undefined ? tails : { ...tails, nextTurn: Math.max(tails.nextTurn, turn + 1) };
  },
  replay: cannot('the index knows a turn once it is sealed'),
  rebuild: cannot('the index knows a turn once it is sealed'),
  check: checkOpenTurns,
  mend: {
    after: 'nothing',
    async run({ writer, found }) {
      for (const { file: path, remedy } of found) {
        if (remedy !== 'stray') continue;
        await writer.exclusively(() => writer.storeWrites([{ kind: 'remove', path }]));
      }
    },
  },
  copy: { noted: copyOpenTurns },
};

async function copyOpenTurns(job: CopyJob): Promise<void> {
  const { into, openTurns } = job;
  const open = Array.from(openTurns.keys());
  for (const turn of open) await copyOpenTurn(job, turn);
  for (const name of await listFolder(into.files, OPEN_FOLDER)) {
    if (!openTurns.has(Number(name))) await into.remove(`${OPEN_FOLDER}/${name}`);
  }
}

async function copyOpenTurn(job: CopyJob, turn: number): Promise<void> {
  const { from, into, trusted, openTurns, between } = job;
  const path = openTurnFile(turn);
  const found = await between(async () => {
    // The turn was sealed meanwhile, and its file is gone.
    if (!openTurns.has(turn)) return undefined;
    const { fileBytes } = await readAbandoned(from, turn);
    return from.read(path, 0, fileBytes);
  });
  if (found === undefined) return;
  // A turn only grows, and its id is never reused: the same length means the same text.
  if (trusted && (await into.files.size(path)) === found.length) return;
  // The file is not written by a rename: every file in that folder counts as an open turn.
  await into.remove(path);
  await into.put(path, 0, found);
}

/** Checks open turns and their files: each has the other, and the text is what was acknowledged. */
async function checkOpenTurns(check: Check): Promise<void> {
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
