import type { TurnId } from '../../../base/brand.ts';
import { isQuipuError } from '../../../base/errors.ts';
import {
  decodeDelta,
  decodeTurnRecord,
  DELTA_HEADER_BYTES,
  TURN_RECORD_BYTES,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import type { OpenTurn } from '../../plan/draft.ts';
import type { Problem } from '../../upkeep.ts';
import { listFolder } from '../disk/folders.ts';
import { corrupt, unlessCorrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Check } from '../truth/check.ts';
import type { CopyJob } from '../truth/copy.ts';
import type { State, StateWriter } from '../truth/state.ts';
import { cannot, type Truth } from '../truth/truth.ts';
import { readSlot } from '../turns/turn-table.ts';

// Turns that are being streamed into: one file for each, with its record and its text.   docs/format/turns.md
// Invariants
// - A turn is open when its file exists and its slot in turns.log is empty. A record outweighs a file.
// - The file has every acknowledged byte, and the head of the context has their number.
// - The file goes in the frame that writes the record. A crash leaves the file, and the next opening ends the turn.

export const OPEN_FOLDER = 'turns/open';

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
  copy: { when: 'noted', run: copyOpenTurns },
};

async function copyOpenTurns({ from, into, openTurns, between }: CopyJob): Promise<void> {
  for (const turn of Array.from(openTurns.keys())) {
    const path = openTurnFile(turn);
    const found = await between(async () => {
      // The turn was sealed meanwhile, and its file is gone.
      if (!openTurns.has(turn)) return undefined;
      const { fileBytes } = await readAbandoned(from, turn);
      return from.read(path, 0, fileBytes);
    });
    // The file is not written by a rename: every file in that folder counts as an open turn.
    if (found !== undefined) await into.put(path, 0, found);
  }
  for (const name of await listFolder(into.files, OPEN_FOLDER)) {
    if (!openTurns.has(Number(name))) await into.remove(`${OPEN_FOLDER}/${name}`);
  }
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

export function openTurnFile(turn: number): string {
  return `${OPEN_FOLDER}/${turn}`;
}

/** The turn of an open-turn file; undefined for any other name. */
export function openTurnNumber(name: string): number | undefined {
  const match = /^turns\/open\/(\d+)$/.exec(name);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** The length of the turn's file: the record, and each piece of text with its header. */
export function openFileBytes({ row, deltas }: OpenTurn): number {
  return TURN_RECORD_BYTES + deltas * DELTA_HEADER_BYTES + row.size;
}

/** All bytes acknowledged for an open turn. */
export async function readOpenText(files: StoreFiles, turn: OpenTurn): Promise<Uint8Array> {
  const name = openTurnFile(Number(turn.row.id));
  const bytes = await files.read(name, 0, openFileBytes(turn));
  const text = joinDeltas(name, bytes);
  if (text.length === turn.row.size) return text;
  throw corrupt(name, bytes.length, `the open turn should hold ${turn.row.size} bytes`);
}

/** An open turn as a crash left it: its record, and its text, checked against the length in the head. */
async function readAbandoned(
  files: StoreFiles,
  id: number,
): Promise<{ record: TurnRecord; fileBytes: number; text: Uint8Array }> {
  const name = openTurnFile(id);
  const fileBytes = await files.size(name);
  const bytes = await files.read(name, 0, fileBytes);
  const record = decodeTurnRecord(bytes.subarray(0, TURN_RECORD_BYTES));
  if (record === undefined || Number(record.id) !== id) {
    throw corrupt(name, 0, `the record of open turn ${id} is damaged`);
  }
  return { record, fileBytes, text: joinDeltas(name, bytes) };
}

function joinDeltas(name: string, bytes: Uint8Array): Uint8Array {
  const pieces: Uint8Array[] = [];
  let length = 0;
  let at = TURN_RECORD_BYTES;
  while (at < bytes.length) {
    const delta = decodeDelta(bytes, at);
    if (delta === undefined || delta.offset !== length) {
      throw corrupt(name, at, 'the text of the open turn is damaged');
    }
    pieces.push(delta.data);
    length += delta.data.length;
    at += DELTA_HEADER_BYTES + delta.data.length;
  }
  return Buffer.concat(pieces);
}

// Turns that were open when the store was last in use. No one can go on writing to them. They are sealed as
// interrupted, with every acknowledged byte.

/**
 * Makes the open turns known, so that their empty slots are not taken for damage. Skips a file that is damaged, or
 * that belongs to no turn without a record. A check, or a read of its turn, reports such a file.
 */
export async function findAbandoned(core: State): Promise<void> {
  for (const name of await listFolder(core.files, OPEN_FOLDER)) {
    const id = openTurnNumber(`${OPEN_FOLDER}/${name}`);
    if (id === undefined || !(await mayBeOpen(core, id))) continue;
    const found = await unlessCorrupt(() => readAbandoned(core.files, id));
    const stored = found && core.turns.toStored({ ...found.record, size: found.text.length });
    if (found === undefined || stored === undefined) continue;
    const { row, jump, sideJump } = stored;
    const textBytes = found.fileBytes - TURN_RECORD_BYTES;
    const deltas = (textBytes - found.text.length) / DELTA_HEADER_BYTES;
    core.openTurns.set(id, { row, jump, sideJump, deltas });
  }
}

/**
 * Only a turn that was begun and has no record is open: a record outweighs a file. A damaged slot is no record. There
 * the head of the context decides, so that damage to an empty slot does not cost the text of an open turn.
 */
async function mayBeOpen(core: State, id: number): Promise<boolean> {
  if (id >= core.tails.nextTurn) return false;
  const slot = await readSlot(core.files, id);
  if (slot !== 'damaged') return slot === 'empty';
  const found = await unlessCorrupt(() => readAbandoned(core.files, id));
  if (found === undefined) return false;
  return (await core.openTurnOf(Number(found.record.context))) === BigInt(id);
}

export async function sealAbandoned(writer: StateWriter): Promise<void> {
  const { core } = writer;
  for (const [id, turn] of core.openTurns) {
    const head = await unlessCorrupt(() => core.getHead(Number(turn.row.context)));
    if (head?.openTurn === turn.row.id && head.openBytes !== turn.row.size) {
      // Some of the turn's text is gone. The rest must not be taken for the whole.
      core.openTurns.delete(id);
      continue;
    }
    const seal = { turn: BigInt(id) as TurnId, outcome: 'interrupted' } as const;
    // With a damaged head the turn stays open. Once the head is rebuilt, the next opening ends the turn.
    await unlessCorrupt(() => writer.commit({ seals: [seal] }));
  }
}
