import type { HeadMove } from '../../../format/head-moves.ts';
import type { Progress } from '../../engine.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { ContextPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import type { Area, DamageReport, Tails } from './state.ts';

// Builds the index from the files alone. Memory stays bounded: files are read in pieces, and the index writes
// itself out as it fills. Damage is noted and skipped, so that everything else can still be found.

/** The values that every part of an index rebuild works with. */
export interface Rebuild {
  readonly files: StoreFiles;
  readonly tails: Tails;
  readonly index: Index;
  readonly damage: DamageReport;
  readonly progress: Progress | undefined;
  /** True for a turn that is still open: its empty slot in the file of turns is right. */
  readonly isOpenTurn: (id: number) => boolean;
  /** The newest turn of each context, by the turns themselves. 0 for none. */
  readonly newest: Uint32Array;
  /** Where heads were moved without a new turn. */
  readonly moves: Map<number, HeadMove>;
  /** True for a pack in which blobs were found before. */
  readonly isUsed: (pack: number) => boolean;
  /** The last known place of a context whose head is damaged. */
  readonly seen?: ((context: number) => ContextPlace | undefined) | undefined;
}

/**
 * So few that a piece of heads has 64 KiB and is read at once. A slower read would be repeated each time a head
 * moves meanwhile.
 */
const PIECE_RECORDS = 1024;

export interface IndexedFile {
  readonly file: string;
  readonly bytes: number;
  /** The first number not in use. */
  readonly next: number;
  /** Returns false when the bytes are not an intact record. */
  readonly take: (index: Index, bytes: Uint8Array, number: number) => boolean;
}

/** Indexes a file of equal records, with number n at n times their size. */
export async function rebuildRecords(
  { files, index, damage, progress }: Rebuild,
  area: Area,
  { file, bytes, next, take }: IndexedFile,
): Promise<void> {
  for (let first = 1; first < next; first += PIECE_RECORDS) {
    const count = Math.min(PIECE_RECORDS, next - first);
    const piece = await files.read(file, first * bytes, count * bytes);
    for (let at = 0; at < count; at += 1) {
      const record = piece.subarray(at * bytes, (at + 1) * bytes);
      if (take(index, record, first + at)) continue;
      const offset = (first + at) * bytes;
      damage.add({ area, file, offset, what: `record ${first + at} is damaged` });
    }
    index.maybeFlush();
    progress?.(first + count - 1, next - 1, area);
  }
}

export function* recordsIn(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at + size <= bytes.length; at += size) yield bytes.subarray(at, at + size);
}
