import { compress, decompress } from '../../base/compress.ts';
import { scanPack } from '../../engine/files/packs/pack-file.ts';
import { BlobCodec } from '../../format/blob-record.ts';
import { LARGE_BLOB_BYTES } from '../../format/chunker.ts';

/** A file by its path. */
export type Files = Iterable<readonly [path: string, bytes: Uint8Array]>;

/** A piece of this length occurs nowhere else. */
const PIECE_BYTES = 24;
/** Every 8 KiB, which is the shortest chunk, have a whole piece in them. */
const STEP_BYTES = 8 * 1024 - PIECE_BYTES;

/**
 * Finds the places where bytes are left: as they are, compressed as a whole, or in a record of a pack, anywhere in the
 * file. The search unpacks such records. It looks for pieces, so that it finds a part, too.
 */
export function findBytes(files: Files, secret: Uint8Array): string[] {
  const found = new Set<string>();
  const pieces = piecesOf(secret);
  // The first bytes of all zstd frames are alike. Large blobs are compressed chunk by chunk.
  const packed = secret.length < LARGE_BLOB_BYTES ? piecesOf(compress(secret).subarray(16)) : [];
  for (const [path, bytes] of files) {
    if (includesAny(bytes, pieces)) found.add(`${path} has the bytes`);
    if (includesAny(bytes, packed)) found.add(`${path} has them compressed`);
    for (const raw of unpackAll(path, bytes)) {
      if (includesAny(raw, pieces)) found.add(`${path} has them in a record`);
    }
  }
  return [...found];
}

function piecesOf(bytes: Uint8Array): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at === 0 || at + PIECE_BYTES <= bytes.length; at += STEP_BYTES) {
    pieces.push(Buffer.from(bytes.subarray(at, at + PIECE_BYTES)));
  }
  return pieces.filter(({ length }) => length > 0);
}

function includesAny(bytes: Uint8Array, pieces: readonly Buffer[]): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return pieces.some((piece) => buffer.includes(piece));
}

/** Finds records by their beginning: also behind the end of a pack, and in frames of the journal. */
function* unpackAll(path: string, bytes: Uint8Array): Generator<Uint8Array> {
  if (!/\.(?:pack|wal|bin)$/.test(path)) return;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = buffer.indexOf('424c5342', 0, 'hex'); at !== -1;) {
    const [item] = scanPack(buffer.subarray(at), 1);
    if (item?.kind === 'blob' && item.codec === BlobCodec.zstd) {
      yield decompress(item.stored, item.rawLength);
    }
    at = buffer.indexOf('424c5342', at + 1, 'hex');
  }
}
