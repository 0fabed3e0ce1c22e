import { ALIAS_RECORD_BYTES } from '../../../format/alias-record.ts';
import { isSealed, isZero, toBuffer } from '../../../format/bytes.ts';
import { PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import { TURN_RECORD_BYTES } from '../../../format/turn-record.ts';
import type { Tails } from '../commit/tails.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { ALIASES_FILE, PATCHES_FILE, TURNS_FILE, TYPES_FILE } from '../names.ts';
import { typeLinesIn } from '../turns/type-table.ts';
import { breathe } from './copy-job.ts';
import type { CopyJob } from './copy-job.ts';

// Tables of equal records, which only grow. Every record is checked while it is copied: a backup must not copy
// damage that the next check would find too late. There is one exception to growing. The slot of an open turn is
// empty until the turn is sealed.

/** A multiple of every record size. */
const PIECE_RECORDS = 8192;

interface Table {
  readonly name: string;
  readonly bytes: number;
  readonly next: (tails: Tails) => number;
}

const TABLES: readonly Table[] = [
  { name: TURNS_FILE, bytes: TURN_RECORD_BYTES, next: (tails) => tails.nextTurn },
  { name: PATCHES_FILE, bytes: PATCH_RECORD_BYTES, next: (tails) => tails.nextPatch },
  { name: ALIASES_FILE, bytes: ALIAS_RECORD_BYTES, next: (tails) => tails.nextAlias },
];

/** Copies the records between two tails, or all of them without the first tail. Returns the empty slots of turns. */
export async function copyTables(
  job: CopyJob,
  before: Tails | undefined,
  tails: Tails,
): Promise<number[]> {
  const holes: number[] = [];
  for (const table of TABLES) {
    const first = before === undefined ? 0 : table.next(before);
    const found = await copyRecords(job, table, first, table.next(tails));
    if (table.name === TURNS_FILE) holes.push(...found);
    else if (found[0] !== undefined) throw damaged(table, found[0]);
  }
  await copyTypes(job, before?.typesBytes ?? 0, tails.typesBytes);
  return holes;
}

/** Copies the record of a turn whose slot was empty when it was copied. */
export async function copyTurn({ from, into }: CopyJob, turn: number): Promise<void> {
  const offset = turn * TURN_RECORD_BYTES;
  const bytes = toBuffer(await from.read(TURNS_FILE, offset, TURN_RECORD_BYTES));
  if (!isRecord(bytes, TURN_RECORD_BYTES)) {
    throw corrupt(TURNS_FILE, offset, `the record of turn ${turn} is damaged`);
  }
  await into.put(TURNS_FILE, offset, bytes);
}

/** The slot of a turn that is open in the copy, whether or not it was sealed since. */
export async function emptyTurn({ into }: CopyJob, turn: number): Promise<void> {
  await into.put(TURNS_FILE, turn * TURN_RECORD_BYTES, new Uint8Array(TURN_RECORD_BYTES));
}

export async function isEmptyTurn(files: StoreFiles, turn: number): Promise<boolean> {
  const slot = await files.read(TURNS_FILE, turn * TURN_RECORD_BYTES, TURN_RECORD_BYTES);
  return isZero(toBuffer(slot), 0, slot.length);
}

async function copyRecords(
  { from, into, progress }: CopyJob,
  table: Table,
  first: number,
  next: number,
): Promise<number[]> {
  const { name, bytes } = table;
  const holes: number[] = [];
  for (let at = first; at < next; at += PIECE_RECORDS) {
    const count = Math.min(PIECE_RECORDS, next - at);
    const piece = Buffer.alloc(count * bytes);
    // The slots of the newest turns may not have been written yet.
    piece.set(await from.read(name, at * bytes, count * bytes));
    for (let index = 0; index < count; index += 1) {
      const record = piece.subarray(index * bytes, (index + 1) * bytes);
      if (isRecord(record, bytes)) continue;
      if (!isZero(record, 0, bytes)) throw damaged(table, at + index);
      holes.push(at + index);
    }
    await into.put(name, at * bytes, piece);
    progress?.(at + count - first, next - first, name);
    await breathe();
  }
  return holes;
}

function isRecord(record: Buffer, bytes: number): boolean {
  // Zeros are no record, and their checksum is not zero.
  return record.length === bytes && isSealed(record);
}

async function copyTypes({ from, into }: CopyJob, start: number, end: number): Promise<void> {
  if (start === end) return;
  const types = await from.read(TYPES_FILE, 0, end);
  if (types.length < end) throw corrupt(TYPES_FILE, types.length, 'the end of the file is gone');
  for (const { line, offset } of typeLinesIn(types)) {
    if (line === undefined) throw corrupt(TYPES_FILE, offset, 'this line is not a declared type');
  }
  await into.put(TYPES_FILE, start, await from.read(TYPES_FILE, start, end - start));
}

function damaged({ name, bytes }: Table, number: number): Error {
  return corrupt(name, number * bytes, `record ${number} is damaged`);
}
