import { decodeCheckpoint, encodeCheckpoint } from '../../format/checkpoint.ts';
import { corrupt } from './io-error.ts';
import type { JournalPlace } from './journal.ts';
import { type StoreFiles, writeFully } from './store-files.ts';
import { syncFile } from './sync-failure.ts';
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
}

export interface Checkpoint {
  readonly generation: number;
  readonly seq: number;
  readonly body: CheckpointBody;
}

/** The newest intact checkpoint. A store without one is damaged. */
export async function readCheckpoint(files: StoreFiles): Promise<Checkpoint> {
  let newest: Checkpoint | undefined;
  for (const name of CHECKPOINT_FILES) {
    const length = Math.min(await files.size(name), CHECKPOINT_BYTES_MAX);
    const found = decodeCheckpoint(await files.read(name, 0, length));
    if (found === undefined) continue;
    if (newest === undefined || found.generation > newest.generation) {
      newest = { ...found, body: found.body as CheckpointBody };
    }
  }
  if (newest !== undefined) return newest;
  throw corrupt(CHECKPOINT_FILES[0], 0, 'neither checkpoint can be read');
}

/** Durable when it resolves. It goes to the file that does not hold the generation before it. */
export async function writeCheckpoint(files: StoreFiles, checkpoint: Checkpoint): Promise<void> {
  const name = CHECKPOINT_FILES[checkpoint.generation % 2 === 1 ? 0 : 1];
  const file = await files.io.open(files.pathOf(name), 'write');
  try {
    await writeFully(file, encodeCheckpoint(checkpoint), 0);
    await syncFile(file);
  } finally {
    await file.close();
  }
}
