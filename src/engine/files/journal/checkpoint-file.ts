import { isFields } from '../../../base/fields.ts';
import { unsupported } from '../../../base/errors.ts';
import { decodeCheckpoint, encodeCheckpoint } from '../../../format/journal-frame.ts';
import {
  decodeFormatFile,
  type FormatFile,
  isFormat,
  STORE_FORMAT,
} from '../../../format/format-file.ts';
import { writeAndSync } from '../disk/file-handles.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { isCount, isTails, type Tails } from '../truth/state.ts';
import type { JournalPlace } from './journal.ts';

// A checkpoint says that everything up to frame `seq` is on the disk in its own file, and gives the lengths of the
// files. A checkpoint is written to two files, one after the other. A checkpoint that a crash tore leaves the one
// before. Whichever file is lost later, the other has the checkpoint.

export const FORMAT_FILE = 'FORMAT';

/** FORMAT is written once, when the store is made. */
export const FROM_BACKUP = 'copy it from any backup of this store: it never changes';

/** FORMAT is one short line. */
const FORMAT_BYTES_MAX = 4096;

export const CHECKPOINT_FILES = ['journal/checkpoint-a', 'journal/checkpoint-b'] as const;

/** A checkpoint is small: tails, and one entry per pack that is still written to. */
const CHECKPOINT_BYTES_MAX = 1024 * 1024;

export interface CheckpointBody {
  /** True when the store was closed after this checkpoint, and nothing was written since. */
  readonly clean: boolean;
  readonly durability: 'safe' | 'unsafe';
  /** The place of frame `seq + 1`. */
  readonly journal: JournalPlace;
  readonly tails: Tails;
  /** The ends of the packs at earlier times, oldest first. */
  readonly ages: readonly Age[];
  /** The content of FORMAT, in case FORMAT is damaged. Missing in checkpoints of older versions. */
  readonly store?: FormatFile;
  /** True when the journal may still hold erased bytes, and must be overwritten before anything else. */
  readonly scrub: boolean;
}

export interface Checkpoint {
  readonly generation: number;
  readonly seq: number;
  readonly body: CheckpointBody;
}

/** The newest intact checkpoint; undefined when there is none. */
export async function findCheckpoint(files: StoreFiles): Promise<Checkpoint | undefined> {
  let newest: Checkpoint | undefined;
  for (const name of CHECKPOINT_FILES) {
    const length = Math.min(await files.size(name), CHECKPOINT_BYTES_MAX);
    const found = decodeCheckpoint(await files.read(name, 0, length));
    if (found === undefined || !isBody(found.body)) continue;
    if (newest === undefined || found.generation > newest.generation) {
      newest = { ...found, body: found.body };
    }
  }
  return newest;
}

/** Whether the body of a checkpoint has its shape. A right checksum does not say who wrote it. */
function isBody(value: unknown): value is CheckpointBody {
  if (!isFields(value) || !isFields(value['journal']) || !Array.isArray(value['ages']))
    return false;
  const { clean, scrub, durability, journal, tails, ages, store } = value;
  return (
    typeof clean === 'boolean' &&
    typeof scrub === 'boolean' &&
    (durability === 'safe' || durability === 'unsafe') &&
    (journal['segment'] === 0 || journal['segment'] === 1) &&
    isCount(journal['position']) &&
    isTails(tails) &&
    ages.every(isAge) &&
    (store === undefined || isFormat(store))
  );
}

function isAge(value: unknown): value is Age {
  if (!isFields(value) || !Array.isArray(value['packs'])) return false;
  const { ms, nextPack, packs } = value;
  return isCount(ms) && isCount(nextPack) && packs.every(isPackSpan);
}

/** Whether a value from a file names a pack, and how far it reaches. */
export function isPackSpan(value: unknown): value is Age['packs'][number] {
  return isFields(value) && isCount(value['number']) && isCount(value['length']);
}

/** The newest intact checkpoint. A store without one is damaged. */
export async function mustFindCheckpoint(files: StoreFiles): Promise<Checkpoint> {
  const newest = await findCheckpoint(files);
  if (newest === undefined) throw corrupt(CHECKPOINT_FILES[0], 0, 'neither checkpoint can be read');
  return newest;
}

/** Like `mustFindCheckpoint`, and makes the checkpoint durable. */
export async function readCheckpoint(files: StoreFiles): Promise<Checkpoint> {
  const newest = await mustFindCheckpoint(files);
  await secureCheckpoint(files, newest);
  return newest;
}

/**
 * A process that died, or whose sync failed, may have left a checkpoint that only reads see, or one file without
 * it. So the checkpoint is written once more to both files.
 */
export async function secureCheckpoint(files: StoreFiles, newest: Checkpoint): Promise<void> {
  // The checkpoint is written first to its own file: the other file may hold the only durable one.
  await writeTo(files, newest, newest.generation);
  await writeTo(files, newest, newest.generation + 1);
}

/** The checkpoint is durable when this resolves: in one file before the other one is touched. */
export async function writeCheckpoint(files: StoreFiles, checkpoint: Checkpoint): Promise<void> {
  const { format: store } = files;
  const body = store === undefined ? checkpoint.body : { ...checkpoint.body, store };
  for (const turn of [0, 1]) {
    await writeTo(files, { ...checkpoint, body }, checkpoint.generation + turn);
  }
}

/** Writes to the first file for an odd number, to the second for an even one. */
async function writeTo(files: StoreFiles, checkpoint: Checkpoint, number: number): Promise<void> {
  const path = files.pathOf(CHECKPOINT_FILES[number % 2 === 1 ? 0 : 1]);
  await writeAndSync(files.io, path, { bytes: encodeCheckpoint(checkpoint), position: 0 });
}

// Tells the age of a blob without a timestamp in its record. Every checkpoint notes the ends of the packs, and
// everything before a noted end is at least as old as the note.

export interface Age {
  readonly ms: number;
  readonly nextPack: number;
  readonly packs: readonly { readonly number: number; readonly length: number }[];
}

export function ageOf(tails: Tails, ms: number): Age {
  const packs = tails.packs.map(({ number, length }) => ({ number, length }));
  return { ms, nextPack: tails.nextPack, packs };
}

/** True when the record at `offset` of `pack` existed at that time. */
export function wasThere({ nextPack, packs }: Age, pack: number, offset: number): boolean {
  if (pack >= nextPack) return false;
  const open = packs.find(({ number }) => number === pack);
  return open === undefined || offset < open.length;
}

/** The newest note that is at least `graceMs` old. Undefined when there is none. */
export function ageBefore(ages: readonly Age[], nowMs: number, graceMs: number): Age | undefined {
  return ages.filter(({ ms }) => ms <= nowMs - graceMs).at(-1);
}

/** Adds a note and drops others, so that a few notes cover years: the older the notes, the farther apart. */
export function noteAge(ages: readonly Age[], age: Age): readonly Age[] {
  const kept: Age[] = [];
  for (const [index, note] of ages.entries()) {
    const before = kept.at(-1);
    const after = ages[index + 1] ?? age;
    // Without this note the gap would still be small for its age.
    const gap = after.ms - (before?.ms ?? -Infinity);
    if (gap > Math.max(1000, (age.ms - after.ms) / 4)) kept.push(note);
  }
  return [...kept, age];
}

/**
 * Reads the store's description from FORMAT or, when FORMAT is damaged, from its checkpoint. UNSUPPORTED when the
 * store is newer than this code. A folder without FORMAT is no store: an unfinished backup or restore has none.
 */
export async function readFormat(files: StoreFiles): Promise<FormatFile> {
  const found = decodeFormatFile(await files.read(FORMAT_FILE, 0, FORMAT_BYTES_MAX));
  const format = found ?? (await findCheckpoint(files))?.body.store;
  if (format === undefined) throw corrupt(FORMAT_FILE, 0, 'the file is damaged', FROM_BACKUP);
  if (format.format <= STORE_FORMAT) return format;
  throw unsupported(
    'format',
    String(format.format),
    `the store at ${files.root} has format ${format.format}, and this version knows ${STORE_FORMAT}; use a newer quipudb`,
  );
}
