import type { Check } from './check.ts';

/** Small enough that a piece is read at once on the calling thread: no slot is ever seen half written. */
const PIECE_RECORDS = 512;

export interface FixedFile {
  readonly file: string;
  readonly recordBytes: number;
  /** The first number not in use. */
  readonly next: number;
  readonly what: string;
}

/** Calls back for every record of a file in which number n is at n times the record size. */
export async function eachRecord(
  { files, findings }: Check,
  { file, recordBytes, next, what }: FixedFile,
  onRecord: (bytes: Uint8Array, number: number) => Promise<void> | void,
): Promise<void> {
  for (let first = 1; first < next; first += PIECE_RECORDS) {
    const count = Math.min(PIECE_RECORDS, next - first);
    const piece = await files.read(file, first * recordBytes, count * recordBytes);
    for (let at = 0; at < count; at += 1) {
      const bytes = piece.subarray(at * recordBytes, (at + 1) * recordBytes);
      const waiting = onRecord(bytes, first + at);
      if (waiting !== undefined) await waiting;
    }
    await findings.rest(piece.length, what);
  }
}
