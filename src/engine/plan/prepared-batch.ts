import type { Hash } from '../../base/brand.ts';
import { compress } from '../../base/compress.ts';
import { BlobCodec, type BlobCodecNumber } from '../../format/blob-record.ts';
import type { Adoption } from '../adoption.ts';
import type { Batch, BlobPut } from '../batch.ts';

/** The stored form of some bytes: zstd where that makes them smaller, else the bytes themselves. */
export interface Squeezed {
  readonly codec: BlobCodecNumber;
  readonly rawLength: number;
  readonly stored: Uint8Array;
}

/** A blob to be written into a pack. */
export interface PreparedBlob {
  readonly hash: Hash;
  readonly squeezed: Squeezed;
  readonly sha256: string | undefined;
}

export interface ChunkPlace {
  readonly hash: Hash;
  readonly codec: BlobCodecNumber;
  readonly offset: number;
  readonly rawLength: number;
  readonly storedLength: number;
}

/** Bytes already written to a bulk pack and synced. They count once the frame that names them counts. */
export interface BulkExtent {
  readonly pack: number;
  readonly offset: number;
  readonly length: number;
  readonly chunks: readonly ChunkPlace[];
}

/** A batch with its blobs compressed, and its large ones written already. */
export interface PreparedBatch {
  /** All changes that the fields below do not hold. */
  readonly rest: Omit<Batch, 'blobs'>;
  readonly blobs: readonly PreparedBlob[];
  readonly extents: readonly BulkExtent[];
  /** Chunks of the batch's large blobs that were there already. */
  readonly relies: readonly Hash[];
  /** Records of another store. With them, the rest of the batch is empty. */
  readonly adoption?: Adoption;
}

/** Below this size, a zstd frame's own overhead uses up the saving. */
export const COMPRESS_MIN_BYTES = 64;

export function prepareBlob({ hash, bytes, sha256 }: BlobPut): PreparedBlob {
  const squeezed = squeeze(bytes);
  // The blob waits for its group, and the caller may reuse the buffer meanwhile.
  const own = squeezed.stored === bytes ? { ...squeezed, stored: new Uint8Array(bytes) } : squeezed;
  return { hash, squeezed: own, sha256 };
}

export function squeeze(bytes: Uint8Array): Squeezed {
  const rawLength = bytes.length;
  if (rawLength >= COMPRESS_MIN_BYTES) {
    const stored = compress(bytes);
    if (stored.length < rawLength) return { codec: BlobCodec.zstd, rawLength, stored };
  }
  return { codec: BlobCodec.raw, rawLength, stored: bytes };
}
