import { isSealed, isZero } from '../../../format/bytes.ts';
import type { Progress } from '../../progress.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { CopySink } from './copy-sink.ts';
import type { Tails } from './tails.ts';

// A copy of one moment is made beside writers. A truth copies its files as it finds them. Everything that changes
// from a certain point on is also noted, as the frames of that time, and carried out in the copy at the end. As
// after a crash, that gives the state of the last frame, whatever the files looked like when they were read. Every
// record is checked while it is copied: a backup must not take over damage that a check would find too late.

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

/**
 * - `ahead`: nothing is noted yet. Files that only grow are copied now, most of the bytes.
 * - `noted`: frames are noted from here on. Everything is copied.
 * - `after`: the noted frames were carried out. Packs, whose bytes are not noted, follow up to their ends.
 */
export type CopyPhase = 'ahead' | 'noted' | 'after';

export interface CopyJob {
  readonly from: StoreFiles;
  readonly into: CopySink;
  readonly progress: Progress | undefined;
  readonly phase: CopyPhase;
  /** The ends of the files in the store. */
  readonly tails: Tails;
  readonly copied: Copied;
  /** The number of heads that the copy may have already. 0 when its files prove nothing. */
  readonly knownHeads: number;
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

export type Copy = (job: CopyJob) => Promise<void>;

/** A multiple of every record size. */
const PIECE_RECORDS = 8192;

/** A file of equal records, which only grows. */
export interface CopiedFile {
  readonly name: string;
  readonly bytes: number;
  readonly first: number;
  readonly next: number;
}

/** Copies records `first` up to `next`. Returns the numbers of slots without a record. */
export async function copyRecords(
  { from, into, progress }: CopyJob,
  { name, bytes, first, next }: CopiedFile,
): Promise<number[]> {
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

export function damagedRecord(name: string, bytes: number, number: number): Error {
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
