import { decodeCheckpoint, encodeCheckpoint } from '../../format/checkpoint.ts';
import type { Age } from './collect/ages.ts';
import { corrupt } from './io-error.ts';
import type { JournalPlace } from './journal.ts';
import type { StoreFiles } from './store-files.ts';
import { writeAndSync } from './write-fully.ts';
import type { Tails } from './tails.ts';

// A checkpoint says: everything up to frame `seq` is on the disk in its own file, and this is how long
// the files are. Two files are written in turn, so a checkpoint torn by a crash leaves the one before.

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
  /** Erased bytes may still stand in the journal, which must be overwritten before anything else. */
  readonly scrub: boolean;
}

export interface Checkpoint {
  readonly generation: number;
  readonly seq: number;
  readonly body: CheckpointBody;
}

/**
 * The newest intact checkpoint, durable. A store without one is damaged. A process that died, or whose
 * sync failed, may have left one that only reads see; it is written once more, because the next
 * checkpoint goes over the one before it. The rest of one that a power cut tore is written over at once:
 * two good ones are safer than one, and nobody takes the rest for damage.
 */
export async function readCheckpoint(files: StoreFiles): Promise<Checkpoint> {
  let newest: Checkpoint | undefined;
  let newestBytes: Uint8Array = new Uint8Array();
  let torn = false;
  for (const name of CHECKPOINT_FILES) {
    const length = Math.min(await files.size(name), CHECKPOINT_BYTES_MAX);
    const bytes = await files.read(name, 0, length);
    const found = decodeCheckpoint(bytes);
    torn ||= found === undefined && length > 0;
    if (found === undefined) continue;
    if (newest === undefined || found.generation > newest.generation) {
      newest = { ...found, body: found.body as CheckpointBody };
      newestBytes = bytes;
    }
  }
  if (newest !== undefined) {
    await writeBytes(files, newest.generation, newestBytes);
    if (!torn) return newest;
    const again = { ...newest, generation: newest.generation + 1 };
    await writeCheckpoint(files, again);
    return again;
  }
  throw corrupt(CHECKPOINT_FILES[0], 0, 'neither checkpoint can be read');
}

/** Durable when it resolves. It goes to the file that does not hold the generation before it. */
export async function writeCheckpoint(files: StoreFiles, checkpoint: Checkpoint): Promise<void> {
  await writeBytes(files, checkpoint.generation, encodeCheckpoint(checkpoint));
}

async function writeBytes(files: StoreFiles, generation: number, bytes: Uint8Array): Promise<void> {
  const path = files.pathOf(fileOf(generation));
  await writeAndSync(files.io, path, { bytes, position: 0 });
}

function fileOf(generation: number): (typeof CHECKPOINT_FILES)[number] {
  return CHECKPOINT_FILES[generation % 2 === 1 ? 0 : 1];
}
