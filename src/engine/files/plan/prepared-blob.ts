import type { Hash } from '../../../base/brand.ts';
import { compress } from '../../../base/compress.ts';
import { BlobCodec, type BlobCodecNumber } from '../../../format/blob-record.ts';
import type { BlobPut } from '../../batch.ts';

/** A blob ready to be written: compressed where that makes it smaller. */
export interface PreparedBlob {
  readonly hash: Hash;
  readonly codec: BlobCodecNumber;
  readonly rawLength: number;
  readonly stored: Uint8Array;
  readonly sha256: string | undefined;
}

export interface ChunkPlace {
  readonly hash: Hash;
  readonly codec: BlobCodecNumber;
  readonly offset: number;
  readonly rawLength: number;
  readonly storedLength: number;
}

/** Bytes already written to a bulk pack and synced; they count once the frame that names them does. */
export interface BulkExtent {
  readonly pack: number;
  readonly offset: number;
  readonly length: number;
  readonly chunks: readonly ChunkPlace[];
}

/** Below this, a zstd frame's own overhead eats what it saves. */
const COMPRESS_MIN_BYTES = 64;

export function prepareBlob({ hash, bytes, sha256 }: BlobPut): PreparedBlob {
  const { codec, rawLength, stored } = squeeze(bytes);
  // It waits for its group, and the caller may reuse the buffer meanwhile.
  return {
    hash,
    codec,
    rawLength,
    stored: stored === bytes ? new Uint8Array(bytes) : stored,
    sha256,
  };
}

/** zstd, or the bytes themselves when that does not shrink them. */
export function squeeze(bytes: Uint8Array): Pick<PreparedBlob, 'codec' | 'rawLength' | 'stored'> {
  const rawLength = bytes.length;
  if (rawLength >= COMPRESS_MIN_BYTES) {
    const stored = compress(bytes);
    if (stored.length < rawLength) return { codec: BlobCodec.zstd, rawLength, stored };
  }
  return { codec: BlobCodec.raw, rawLength, stored: bytes };
}
