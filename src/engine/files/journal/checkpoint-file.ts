import { decodeCheckpoint, encodeCheckpoint } from '../../../format/checkpoint.ts';
import type { FormatFile } from '../../../format/format-file.ts';
import type { Age } from '../collect/ages.ts';
import { corrupt } from '../disk/io-error.ts';
import type { JournalPlace } from './journal.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { writeAndSync } from '../disk/write-fully.ts';
import type { Tails } from '../commit/tails.ts';

// A checkpoint says: everything up to frame `seq` is on the disk in its own file, and this is how long
// the files are. It is written to two files, one after the other: one that a crash tore leaves the one before, and
// whichever file is lost later, the other has it.

export const CHECKPOINT_FILES = ['journal/checkpoint-a', 'journal/checkpoint-b'] as const;

/** A checkpoint is small: tails, and one entry per pack that is still written to. */
const CHECKPOINT_BYTES_MAX = 1024 * 1024;

export interface CheckpointBody {
  /** The store was closed after it, and nothing was written since. */
  readonly clean: boolean;
  readonly durability: 'safe' | 'unsafe';
  /** Where frame `seq + 1` goes. */
  readonly journal: JournalPlace;
  readonly tails: Tails;
  /** How far the packs reached at earlier times; oldest first. */
  readonly ages: readonly Age[];
  /** What FORMAT says, for the day that FORMAT is damaged. Missing in what older versions wrote. */
  readonly store?: FormatFile;
  /** Erased bytes may still stand in the journal, which must be overwritten before anything else. */
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
    if (found === undefined) continue;
    if (newest === undefined || found.generation > newest.generation) {
      newest = { ...found, body: found.body as CheckpointBody };
    }
  }
  return newest;
}

/** The newest intact checkpoint. A store without one is damaged. */
export async function mustFindCheckpoint(files: StoreFiles): Promise<Checkpoint> {
  const newest = await findCheckpoint(files);
  if (newest === undefined) throw corrupt(CHECKPOINT_FILES[0], 0, 'neither checkpoint can be read');
  return newest;
}

/** As `mustFindCheckpoint`, and durable. */
export async function readCheckpoint(files: StoreFiles): Promise<Checkpoint> {
  const newest = await mustFindCheckpoint(files);
  await secureCheckpoint(files, newest);
  return newest;
}

/**
 * A process that died, or whose sync failed, may have left one that only reads see, or one file without it; so it
 * is written once more to both.
 */
export async function secureCheckpoint(files: StoreFiles, newest: Checkpoint): Promise<void> {
  // First where it is: the other file may hold the only one that is durable.
  await writeTo(files, newest, newest.generation);
  await writeTo(files, newest, newest.generation + 1);
}

/** Durable when it resolves: in one file before the other one is touched. */
export async function writeCheckpoint(files: StoreFiles, checkpoint: Checkpoint): Promise<void> {
  const { format: store } = files;
  const body = store === undefined ? checkpoint.body : { ...checkpoint.body, store };
  for (const turn of [0, 1]) {
    await writeTo(files, { ...checkpoint, body }, checkpoint.generation + turn);
  }
}

/** To the first file for an odd number, to the second for an even one. */
async function writeTo(files: StoreFiles, checkpoint: Checkpoint, number: number): Promise<void> {
  const path = files.pathOf(CHECKPOINT_FILES[number % 2 === 1 ? 0 : 1]);
  await writeAndSync(files.io, path, { bytes: encodeCheckpoint(checkpoint), position: 0 });
}
