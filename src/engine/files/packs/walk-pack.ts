import type { StoreFiles } from '../disk/store-files.ts';
import { endOf, type IntactItem, packFile, type PackItem, scanPack } from './pack-file.ts';

const PIECE_BYTES = 1024 * 1024;

/** The bytes in which the next record after damage is searched at once. */
const SEARCH_BYTES = 4 * 1024 * 1024;

/** No record is longer: the chunk list of the largest possible blob has at most 19 MB. */
const RECORD_BYTES_MAX = 32 * 1024 * 1024;

/** The first bytes of every blob record on disk. */
const MAGIC = Buffer.from('424c5342', 'hex');

/** Some intact records, one behind the other, with their bytes. */
interface PackPiece {
  readonly offset: number;
  readonly bytes: Uint8Array;
  readonly items: readonly IntactItem[];
}

/** Reads records up to `to`. Stops early behind the end of the pack, and before bytes that are no intact record. */
export async function* readRecords(
  files: StoreFiles,
  number: number,
  { from, to }: { readonly from: number; readonly to: number },
): AsyncGenerator<PackPiece> {
  let offset = from;
  let pieceBytes = PIECE_BYTES;
  while (offset < to) {
    const piece = await files.read(packFile(number), offset, Math.min(pieceBytes, to - offset));
    const items: IntactItem[] = [];
    for (const item of scanPack(piece, offset)) if (item.kind !== 'bad') items.push(item);
    const last = items.at(-1);
    if (last !== undefined) {
      const end = endOf(last);
      yield { offset, bytes: piece.subarray(0, end - offset), items };
      if (last.kind === 'end') return;
      offset = end;
      pieceBytes = PIECE_BYTES;
    } else if (offset + piece.length < to && pieceBytes < RECORD_BYTES_MAX) {
      // This is a record longer than the piece, or damage. More bytes will tell.
      pieceBytes *= 2;
    } else return;
  }
}

/** Called for every record in order. The walk awaits the result. */
export type OnPackItem = (item: PackItem) => void | Promise<void>;

/**
 * Walks every record up to `length`. After a bad record the walk continues at the next bytes that read as a record.
 */
export async function walkPack(
  files: StoreFiles,
  number: number,
  length: number,
  onItem: OnPackItem,
): Promise<void> {
  let offset = 0;
  while (offset < length) {
    for await (const { items } of readRecords(files, number, { from: offset, to: length })) {
      for (const item of items) {
        const taken = onItem(item);
        if (taken !== undefined) await taken;
        if (item.kind === 'end') return;
        offset = endOf(item);
      }
    }
    if (offset >= length) return;
    await onItem({ kind: 'bad', offset });
    offset = await nextRecord(files, number, offset + 1, length);
  }
}

/** The next offset from `from` on where a whole record can be read; `length` when there is none. */
async function nextRecord(
  files: StoreFiles,
  number: number,
  from: number,
  length: number,
): Promise<number> {
  for (let at = from; at < length; at += SEARCH_BYTES) {
    const piece = await files.read(packFile(number), at, Math.min(2 * SEARCH_BYTES, length - at));
    let found = Buffer.from(piece.buffer, piece.byteOffset, piece.length).indexOf(MAGIC);
    while (found !== -1 && found < SEARCH_BYTES) {
      const [item] = scanPack(piece.subarray(found), Math.max(1, at + found));
      if (item?.kind === 'blob') return at + found;
      found = Buffer.from(piece.buffer, piece.byteOffset, piece.length).indexOf(MAGIC, found + 1);
    }
  }
  return length;
}
