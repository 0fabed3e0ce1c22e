import { isSealed, isZero } from '../../../format/bytes.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { Progress } from '../../progress.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Tails } from './state.ts';

// A copy of one moment is made beside writers. A truth copies its files as it finds them. Everything that changes
// from a certain point on is also noted, as the frames of that time, and carried out in the copy at the end. As
// after a crash, that gives the state of the last frame, whatever the files looked like when they were read. Every
// record is checked while it is copied: a backup must not take over damage that a check would find too late.

/** Files that were written and not synced stay open. A copy with many files must not run out of file handles. */
const UNSYNCED_FILES_MAX = 64;

/** Data is synced in small portions, so that commits to the same disk do not wait behind a large sync. */
const UNSYNCED_BYTES_MAX = 16 * 1024 * 1024;

/** A pack that no longer grows, whole and durable in the copy. */
export interface CopiedPack {
  readonly number: number;
  readonly length: number;
}

/** A pack, up to the byte where it counts. */
export interface PackSpan extends CopiedPack {
  readonly closed: boolean;
}

/** The place of the last record of a published name. Undefined: the document was removed. */
export type PublishedPlace = { readonly offset: number; readonly length: number } | undefined;

/** The parts that the copy has. Each truth keeps its own part up to date. */
export interface Copied {
  /** The ends of the files that only grow. Undefined when the copy has none of them. */
  tails: Tails | undefined;
  /** The length up to which each pack equals the store's. */
  readonly packs: Map<number, PackSpan>;
  /** Turns whose slots were empty when they were copied, because they were open. */
  readonly holes: Set<number>;
  /** Documents whose plain files must be brought up to date. */
  readonly published: Map<string, PublishedPlace>;
  readonly logs: Set<string>;
  /** The records of the erasure log that the copy has followed. */
  readonly erased: number;
}

/** The parts that a copy has from an earlier state. Without arguments: none. */
export function newCopied(
  state?: { readonly tails: Tails; readonly openTurns: readonly number[] },
  packs: Map<number, PackSpan> = new Map(),
  erased = 0,
): Copied {
  const holes = new Set(state?.openTurns);
  return { tails: state?.tails, packs, holes, published: new Map(), logs: new Set(), erased };
}

/**
 * The phases of a copy:
 * - `ahead`: nothing is noted yet. Files that only grow are copied now, most of the bytes.
 * - `noted`: frames are noted from here on. Everything is copied.
 * - `after`: the noted frames were carried out. Packs, whose bytes are not noted, follow up to their ends.
 */
export type CopyPhase = 'ahead' | 'noted' | 'after';

/** A copy of a store, from its first phase to its last. */
export interface CopyRun {
  readonly from: StoreFiles;
  readonly into: CopySink;
  readonly progress: Progress | undefined;
  readonly copied: Copied;
  /** True when files of the copy may be compared with the store's. */
  readonly trusted: boolean;
  readonly openTurns: { has(turn: number): boolean; keys(): Iterable<number> };
  /** Runs `work` while nothing is written. */
  readonly between: <T>(work: () => Promise<T>) => Promise<T>;
  /** Whether there is such a log, damaged or not. */
  readonly hasLog: (name: string) => Promise<boolean>;
  /** Called when a pack is whole in the copy and will not change. */
  readonly onClosed: (pack: CopiedPack) => Promise<void>;
}

export interface CopyJob extends CopyRun {
  /** The ends of the files in the store. */
  readonly tails: Tails;
}

/** The part of a truth in each phase. */
export type Copy = { readonly [Phase in CopyPhase]?: (job: CopyJob) => Promise<void> };

/** A multiple of every record size. */
const PIECE_RECORDS = 8192;

/** A file of equal records, which only grows. */
export interface CopiedFile {
  readonly name: string;
  readonly bytes: number;
  /** The tail that counts the records. */
  readonly tail: 'nextTurn' | 'nextPatch' | 'nextAlias';
}

/** Copies the records that the copy lacks. Returns the numbers of slots without a record. */
export async function copyRecords(
  { from, into, progress, copied, tails }: CopyJob,
  { name, bytes, tail }: CopiedFile,
): Promise<number[]> {
  const first = copied.tails?.[tail] ?? 0;
  const next = tails[tail];
  const holes: number[] = [];
  for (let at = first; at < next; at += PIECE_RECORDS) {
    const count = Math.min(PIECE_RECORDS, next - at);
    const piece = Buffer.alloc(count * bytes);
    // The slots of the newest turns may not have been written yet.
    piece.set(await from.read(name, at * bytes, count * bytes));
    for (let index = 0; index < count; index += 1) {
      const record = piece.subarray(index * bytes, (index + 1) * bytes);
      // Zeros are no record, and their checksum is not zero.
      if (isSealed(record)) continue;
      if (!isZero(record, 0, bytes)) throw damagedRecord(name, bytes, at + index);
      holes.push(at + index);
    }
    await into.put(name, at * bytes, piece);
    progress?.(at + count - first, next - first, name);
    await breathe();
  }
  return holes;
}

/** Like `copyRecords`, for a file in which every slot has a record. */
export async function copyFilled(job: CopyJob, file: CopiedFile): Promise<void> {
  const [hole] = await copyRecords(job, file);
  if (hole !== undefined) throw damagedRecord(file.name, file.bytes, hole);
}

function damagedRecord(name: string, bytes: number, number: number): Error {
  return corrupt(name, number * bytes, `record ${number} is damaged`);
}

/** Copies a small file as a whole, unless the copy has the same. */
export async function copySmall({ from, into, trusted }: CopyJob, name: string): Promise<void> {
  const size = await from.size(name);
  const theirs = await into.files.size(name);
  if (size === 0) {
    if (theirs > 0) await into.remove(name);
    return;
  }
  const ours = await from.read(name, 0, size);
  if (trusted && Buffer.compare(ours, await into.files.read(name, 0, theirs)) === 0) return;
  await into.replace(name, ours);
}

/** Small reads and writes run without a wait. A long row of them yields to others in between. */
export async function breathe(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

// The destination of copied bytes. Data that the copy shows in its present state changes only through the redo
// frame. Data beyond the lengths of that state is written directly to its place. Without a frame the folder cannot
// be opened, and everything is written directly.

/** The length of a file that counts now. A file without an entry counts as a whole. */
export type Visible = Pick<ReadonlyMap<string, number>, 'get'>;

/** The frame in the journal of the copy that changes all visible data at once. */
interface Redo {
  append(write: JournalWrite): Promise<void>;
}

export class CopySink {
  readonly files: StoreFiles;
  readonly #redo: Redo | undefined;
  readonly #visible: Visible;
  readonly #touched = new Set<string>();
  readonly #unsynced = new Set<string>();
  #unsyncedBytes = 0;
  #copiedBytes = 0;

  constructor(files: StoreFiles, redo?: Redo, visible: Visible = new Map()) {
    this.files = files;
    this.#redo = redo;
    this.#visible = visible;
  }

  get copiedBytes(): number {
    return this.#copiedBytes;
  }

  get touchedFiles(): number {
    return this.#touched.size;
  }

  async put(path: string, offset: number, data: Uint8Array): Promise<void> {
    await this.take({ kind: 'bytes', path, offset, data });
  }

  async replace(path: string, data: Uint8Array): Promise<void> {
    await this.take({ kind: 'whole', path, data });
  }

  async remove(path: string): Promise<void> {
    await this.take({ kind: 'remove', path });
  }

  async take(write: JournalWrite): Promise<void> {
    this.#touched.add(write.path);
    if ('data' in write) this.#copiedBytes += write.data.length;
    if (this.#redo === undefined) return this.#write(write);
    if (write.kind !== 'bytes') return this.#redo.append(write);
    const { path, offset, data } = write;
    const shown = Math.max(0, (this.#visible.get(path) ?? Infinity) - offset);
    if (shown > 0) await this.#redo.append({ ...write, data: data.subarray(0, shown) });
    if (shown >= data.length) return;
    await this.#write({ ...write, offset: offset + shown, data: data.subarray(shown) });
  }

  async #write(write: JournalWrite): Promise<void> {
    await this.files.apply([write]);
    await this.files.catchUp();
    this.#unsynced.add(write.path);
    this.#unsyncedBytes += 'data' in write ? write.data.length : 0;
    const many = this.#unsynced.size >= UNSYNCED_FILES_MAX;
    if (many || this.#unsyncedBytes >= UNSYNCED_BYTES_MAX) await this.sync();
  }

  /** All data written directly is durable when this resolves. */
  async sync(): Promise<void> {
    await this.files.syncAll();
    this.#unsynced.clear();
    this.#unsyncedBytes = 0;
  }
}
