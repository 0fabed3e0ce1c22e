import type { Hash } from '../base/brand.ts';
import { QuipuError } from '../base/errors.ts';

// A blob comes in pieces that are asked for one by one: nobody's memory fills up when the reader is
// slow, no other answer waits behind a long one, and after a lost connection the next piece is asked for.

const PIECE_BYTES = 1_048_576;

export interface BlobPiece {
  /** Of the whole blob. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** Undefined when there is no such blob. */
export type ReadPiece = (
  hash: Hash,
  start: number,
  length: number,
) => Promise<BlobPiece | undefined>;

export async function getWhole(read: ReadPiece, hash: Hash): Promise<Uint8Array | undefined> {
  const first = await read(hash, 0, PIECE_BYTES);
  if (first === undefined) return undefined;
  // Its own array: a small one would otherwise keep the whole chunk it arrived in.
  const whole = new Uint8Array(first.size);
  whole.set(first.bytes);
  let at = first.bytes.length;
  if (at < first.size) {
    for await (const piece of readPieces(read, hash, { start: at, end: first.size })) {
      whole.set(piece, at);
      at += piece.length;
    }
  }
  return whole;
}

/** One piece ahead of the reader. */
export async function* readPieces(
  read: ReadPiece,
  hash: Hash,
  { start, end }: { readonly start: number; readonly end: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  const ask = (from: number): Promise<BlobPiece | undefined> => {
    const piece = read(hash, from, Math.max(0, Math.min(PIECE_BYTES, end - from)));
    // Nobody may get to await it.
    piece.catch(() => undefined);
    return piece;
  };
  let at = start;
  let next = ask(at);
  for (;;) {
    const piece = await next;
    if (piece === undefined) throw noBlob(hash);
    at += piece.bytes.length;
    const isLast = piece.bytes.length === 0 || at >= Math.min(end, piece.size);
    if (!isLast) next = ask(at);
    if (piece.bytes.length > 0) yield new Uint8Array(piece.bytes);
    if (isLast) return;
  }
}

function noBlob(hash: Hash): QuipuError<'NOT_FOUND'> {
  return new QuipuError('NOT_FOUND', `there is no blob ${hash}`, { what: 'blob', id: hash });
}
