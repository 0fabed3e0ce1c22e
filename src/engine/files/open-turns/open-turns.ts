import { listFolder } from '../disk/walk-folder.ts';
import { type CopyJob } from '../truth/copy.ts';
import { cannot, type Truth } from '../truth/truth.ts';
import { checkOpenTurns } from './check-open-turns.ts';
import { OPEN_FOLDER, openTurnFile, openTurnNumber, readAbandoned } from './open-turn-file.ts';

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
  copy: copyOpenTurns,
};

async function copyOpenTurns(job: CopyJob): Promise<void> {
  const { phase, into, openTurns } = job;
  if (phase !== 'noted') return;
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
