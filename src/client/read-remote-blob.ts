import type { Hash } from '../base/brand.ts';
import { notFound } from '../base/errors.ts';

// A blob comes in pieces that the client asks for one by one. So a slow reader fills nobody's memory, and no other
// answer waits behind a long one. After a lost connection the client asks for the next piece.

const PIECE_BYTES = 1_048_576;

export interface BlobPiece {
  /** The size of the whole blob. */
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
  // An array of its own: a small blob would otherwise keep the whole chunk in which it arrived.
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

/** Reads one piece ahead of the reader. */
export async function* readPieces(
  read: ReadPiece,
  hash: Hash,
  { start, end }: { readonly start: number; readonly end: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  const ask = (from: number): Promise<BlobPiece | undefined> => {
    const piece = read(hash, from, Math.max(0, Math.min(PIECE_BYTES, end - from)));
    // The reader may stop before it awaits this piece.
    piece.catch(() => undefined);
    return piece;
  };
  let at = start;
  let next = ask(at);
  for (;;) {
    const piece = await next;
    if (piece === undefined) throw notFound('blob', hash);
    at += piece.bytes.length;
    const isLast = piece.bytes.length === 0 || at >= Math.min(end, piece.size);
    if (!isLast) next = ask(at);
    if (piece.bytes.length > 0) yield new Uint8Array(piece.bytes);
    if (isLast) return;
  }
}
