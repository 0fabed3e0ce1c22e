import { unsupported } from '../../../base/errors.ts';
import { isFields } from '../../../base/fields.ts';
import { writeAndSync } from '../disk/file-handles.ts';
import { corrupt, SyncFailure, toQuipuError } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Index } from '../index/store-index.ts';
import type { Journal, JournalPlace } from './journal.ts';
import { isCount, isTails, type Tails } from '../truth/state.ts';
import {
  decodeFormatFile,
  type FormatFile,
  isFormat,
  STORE_FORMAT,
} from '../../../format/format-file.ts';
import { decodeCheckpoint, encodeCheckpoint } from '../../../format/journal-frame.ts';

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

// Checkpoints: once everything up to a frame is certainly in its own file, the journal need not keep it.
// Checkpoints run beside commits, one at a time.

/** The state that a checkpoint describes. `Core` is it. */
export interface CheckpointedState {
  readonly files: StoreFiles;
  readonly index: Index;
  readonly tails: Tails;
  /** The last visible frame, and the place where the journal continues after it. */
  readonly seq: number;
  readonly place: JournalPlace;
}

export interface CheckpointerParts {
  readonly core: CheckpointedState;
  readonly journal: Journal;
  readonly durability: 'safe' | 'unsafe';
  readonly clock: () => number;
  /** The longest time between a commit and its checkpoint. Infinity: checkpoints depend on size alone. */
  readonly checkpointMs: number;
}

export interface CheckpointOptions {
  /** True when the store is being closed and nothing will follow. */
  readonly clean?: boolean;
  /** Whether the journal must be overwritten. Unchanged when absent. */
  readonly scrub?: boolean;
}

export class Checkpointer {
  readonly #parts: CheckpointerParts;
  #last: Checkpoint;
  #running: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(parts: CheckpointerParts, last: Checkpoint) {
    this.#parts = parts;
    this.#last = last;
  }

  /** Frames up to this one are not needed any more. */
  get seq(): number {
    return this.#last.seq;
  }

  get ages(): readonly Age[] {
    return this.#last.body.ages;
  }

  /** True while the last checkpoint says that nothing was written since. */
  get clean(): boolean {
    return this.#last.body.clean;
  }

  /** Continues from a checkpoint that an opening without room wrote later. */
  goOnFrom(checkpoint: Checkpoint): void {
    this.#last = checkpoint;
  }

  /** When this resolves, everything visible now needs no journal. */
  async run(options: CheckpointOptions = {}): Promise<void> {
    const mine = this.#running.then(() => this.#run(options));
    this.#running = mine.catch(() => undefined);
    return mine;
  }

  /** Call this after a group: a checkpoint follows some time after the first group that needs one. */
  schedule(): void {
    const { core, checkpointMs } = this.#parts;
    // A checkpoint per segment keeps the other segment free without making a commit wait.
    if (core.place.segment !== this.#last.body.journal.segment) this.#runNow();
    else if (this.#timer === undefined && !this.#stopped && checkpointMs !== Infinity) {
      this.#timer = setTimeout(() => this.#runNow(), checkpointMs).unref();
    }
  }

  /** From now on, a checkpoint runs only when asked for. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Call this before the first frame after a clean close: from now on an opening must read the journal. */
  async begin(): Promise<void> {
    if (!this.#last.body.clean) return;
    const body = { ...this.#last.body, clean: false, durability: this.#parts.durability };
    await this.#guard(() => this.#write(this.#last.seq, body));
  }

  #runNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#stopped) return;
    // A failure shows at the next commit, through the journal or when the segment is needed.
    this.run().catch(() => undefined);
  }

  async #run({ clean = false, scrub }: CheckpointOptions): Promise<void> {
    const { core, durability, clock } = this.#parts;
    const { seq, place: journal, tails } = core;
    const { body } = this.#last;
    const again = scrub !== undefined && scrub !== body.scrub;
    if (seq === this.#last.seq && clean === body.clean && !again) return;
    await core.files.catchUp();
    // The index sync starts now: it writes the positions of this moment.
    const indexed = core.index.sync();
    indexed.catch(() => undefined);
    await this.#guard(async () => {
      // Both are awaited: even when one fails, the other must not be left running.
      const [synced] = await Promise.allSettled([core.files.syncAll(), indexed]);
      if (synced.status === 'rejected') throw synced.reason;
      await indexed;
      const ages = noteAge(body.ages, ageOf(tails, clock()));
      const now = { clean, durability, journal, tails, ages };
      await this.#write(seq, { ...now, scrub: scrub ?? body.scrub });
    });
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    const { core, journal } = this.#parts;
    try {
      // After a failed sync a second sync proves nothing, and the journal must keep its frames.
      if (journal.broken !== undefined) throw journal.broken;
      await work();
    } catch (error) {
      // The journal still has every page that a failed sync may have dropped.
      if (error instanceof SyncFailure) journal.breakDown(error.cause, core.files.root);
      throw journal.broken ?? toQuipuError(error, core.files.root);
    }
  }

  async #write(seq: number, body: CheckpointBody): Promise<void> {
    const checkpoint = { generation: this.#last.generation + 1, seq, body };
    await writeCheckpoint(this.#parts.core.files, checkpoint);
    this.#last = checkpoint;
  }
}
