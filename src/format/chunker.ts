import { firstUse } from '../base/first-use.ts';
import { hashRaw } from '../base/hash.ts';

// Content-defined chunks: FastCDC with normalised chunking.             docs/format/blobs.md
//
// A rolling hash over the last 32 bytes decides where a chunk ends, so that an insertion moves only the
// cuts near it. Up to the average size a cut needs 17 zero bits, after it 13, which keeps most chunks
// near the average. Where the cuts fall is no part of the format: any list of chunks that adds up to
// the blob is valid. But equal bytes share storage only while everybody cuts alike.

export const CHUNK_MIN: number = 8 * 1024;
export const CHUNK_AVG: number = 32 * 1024;
export const CHUNK_MAX: number = 128 * 1024;
/** Blobs of this size and more are stored as chunks. */
export const LARGE_BLOB_BYTES: number = 256 * 1024;

// The highest bits depend on the most bytes: a byte is shifted out after 32 steps.
const MASK_BEFORE_AVG = 0xffff8000 | 0;
const MASK_AFTER_AVG = 0xfff80000 | 0;

/**
 * gear[b] is the little-endian u32 at the start of BLAKE3("quipu.gear\0" and the byte b). It is made for the first cut: a
 * program that cuts nothing starts sooner.
 */
const gearOf = firstUse(() =>
  Int32Array.from({ length: 256 }, (_, byte) => {
    const input = Buffer.from('quipu.gear\0 ', 'latin1');
    input[input.length - 1] = byte;
    return Buffer.from(hashRaw(input)).readInt32LE(0);
  }),
);

/**
 * Where the chunk that begins at `start` ends, within `buffer[start, end)`. The end counts as a cut, so
 * while more bytes may follow give it at least `CHUNK_MAX` of them.
 */
export function cutPoint(buffer: Uint8Array, start: number, end: number): number {
  if (end - start <= CHUNK_MIN) return end;
  const average = Math.min(end, start + CHUNK_AVG);
  const last = Math.min(end, start + CHUNK_MAX);
  const gear = gearOf();
  let hash = 0;
  let at = start + CHUNK_MIN;
  for (; at < average; at += 1) {
    hash = ((hash << 1) + (gear[buffer[at] as number] as number)) | 0;
    if ((hash & MASK_BEFORE_AVG) === 0) return at + 1;
  }
  for (; at < last; at += 1) {
    hash = ((hash << 1) + (gear[buffer[at] as number] as number)) | 0;
    if ((hash & MASK_AFTER_AVG) === 0) return at + 1;
  }
  return last;
}
