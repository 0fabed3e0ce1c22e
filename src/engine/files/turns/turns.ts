import { isSealed, isZero, toBuffer } from '../../../format/bytes.ts';
import { FILE_MAGIC } from '../../../format/file-header.ts';
import { decodeCollectedMap } from '../../../format/collected-map.ts';
import {
  decodeTurnRecord,
  TURN_RECORD_BYTES,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import { corrupt } from '../disk/io-error.ts';
import type { Index } from '../index/store-index.ts';
import { checkLengths } from '../truth/check.ts';
import { type CopyJob, copyRecords, copySmall } from '../truth/copy.ts';
import { type Rebuild, rebuildRecords, recordsIn } from '../truth/rebuild.ts';
import { cannot, type Truth } from '../truth/truth.ts';
import { checkTurns } from './check-turns.ts';
import {
  COLLECTED_FILE,
  withCollected,
  TURNS_FILE,
  TYPES_FILE,
  checkCollected,
  checkTypes,
  readCollected,
  typeLinesIn,
} from './turn-table.ts';

// Turns, their declared types, and which of them were collected.                       docs/format/turns.md
// Invariants
// - Record n of turns.log is at n times the record size. It is written once, when the turn is sealed. Until then
//   the slot is empty, and the id is taken.
// - A type is in types.jsonl before a turn of that type exists, or in the same frame.
// - A turn in collected.map may have lost its payload and reads as if it had never existed.

export const TURNS: Truth = {
  name: 'turns',
  folders: ['turns'],
  files: [
    { name: TURNS_FILE, header: { magic: FILE_MAGIC.turns, recordBytes: TURN_RECORD_BYTES } },
    { name: TYPES_FILE },
  ],
  owns: (path) => path === COLLECTED_FILE,
  lengths: ({ nextTurn, typesBytes }) => [
    // The end of turns.log may belong to turns that are still open.
    [TURNS_FILE, nextTurn * TURN_RECORD_BYTES],
    [TYPES_FILE, typesBytes],
  ],
  advance(tails, write) {
    if (write.kind === 'whole' && write.path === COLLECTED_FILE) {
      return withCollected(tails, decodeCollectedMap(write.data));
    }
    if (write.kind !== 'bytes') return tails;
    const end = write.offset + write.data.length;
    return write.path === TYPES_FILE
      ? { ...tails, typesBytes: Math.max(tails.typesBytes, end) }
      : { ...tails, nextTurn: Math.max(tails.nextTurn, end / TURN_RECORD_BYTES) };
  },
  replay({ index }, write) {
    if (write.kind !== 'bytes' || write.path !== TURNS_FILE) return;
    for (const record of recordsIn(write.data, TURN_RECORD_BYTES)) {
      const turn = decodeTurnRecord(record);
      if (turn !== undefined) indexTurn(index, turn);
    }
  },
  rebuild: rebuildTurns,
  async check(check) {
    await checkLengths(check, [[TYPES_FILE, check.snapshot.tails.typesBytes]]);
    await checkTypes(check);
    await checkCollected(check);
    await checkTurns(check);
  },
  mend: cannot('no other truth knows what a turn said'),
  copy: { ahead: copySealed, noted: copyTurns },
};

async function rebuildTurns(rebuild: Rebuild): Promise<void> {
  await rebuildRecords(rebuild, 'turns', {
    file: TURNS_FILE,
    bytes: TURN_RECORD_BYTES,
    next: rebuild.tails.nextTurn,
    take: (index, bytes, id) => {
      const turn = decodeTurnRecord(bytes);
      if (turn === undefined) return rebuild.isOpenTurn(id);
      if (Number(turn.id) !== id) return false;
      indexTurn(index, turn);
      const context = Number(turn.context);
      if (context < rebuild.newest.length) rebuild.newest[context] = id;
      return true;
    },
  });
}

function indexTurn(index: Index, turn: TurnRecord): void {
  if (turn.idempotency !== undefined) index.addKey(turn.idempotency, Number(turn.id));
  index.count({ turns: 1, logicalBytes: turn.size });
}

async function copyTurns(job: CopyJob): Promise<void> {
  await copySealed(job);
  for (const hole of job.copied.holes) await copySlot(job, hole);
  await readCollected(job.from);
  await copySmall(job, COLLECTED_FILE);
}

/** Copies the turns that the copy lacks, with their types. Notes the slots that are empty. */
async function copySealed(job: CopyJob): Promise<void> {
  const { copied } = job;
  const file = { name: TURNS_FILE, bytes: TURN_RECORD_BYTES, tail: 'nextTurn' } as const;
  for (const hole of await copyRecords(job, file)) copied.holes.add(hole);
  await copyTypes(job, copied.tails?.typesBytes ?? 0);
}

/** Copies the slot of a turn that was open: empty, or with the record that was written since. */
async function copySlot({ from, into, openTurns }: CopyJob, turn: number): Promise<void> {
  // This is asked first: a turn that is sealed in between has its record.
  const isOpen = openTurns.has(turn);
  const offset = turn * TURN_RECORD_BYTES;
  const slot = Buffer.alloc(TURN_RECORD_BYTES);
  slot.set(await from.read(TURNS_FILE, offset, TURN_RECORD_BYTES));
  if (!isSealed(slot) && !(isOpen && isZero(slot, 0, slot.length))) {
    throw corrupt(TURNS_FILE, offset, `the record of turn ${turn} is gone`);
  }
  // A copy that was opened has ended the turn by itself.
  const theirs = toBuffer(await into.files.read(TURNS_FILE, offset, TURN_RECORD_BYTES));
  if (!slot.equals(theirs)) await into.put(TURNS_FILE, offset, slot);
}

async function copyTypes({ from, into, tails }: CopyJob, start: number): Promise<void> {
  const end = tails.typesBytes;
  if (start === end) return;
  const types = await from.read(TYPES_FILE, 0, end);
  if (types.length < end) throw corrupt(TYPES_FILE, types.length, 'the end of the file is gone');
  for (const { line, offset } of typeLinesIn(types)) {
    if (line === undefined) throw corrupt(TYPES_FILE, offset, 'this line is not a declared type');
  }
  await into.put(TYPES_FILE, start, types.subarray(start));
}
