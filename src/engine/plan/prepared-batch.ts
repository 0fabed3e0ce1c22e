import type { Hash } from '../../base/brand.ts';
import type { BlobCodecNumber, PreparedBlob } from '../../format/blob-record.ts';
import type { Adoption } from '../adoption.ts';
import type { Batch, BlobPut } from '../batch.ts';

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

/** Blobs that are compressed; large ones are written already. */
export interface ReadyBlobs {
  readonly blobs: readonly PreparedBlob[];
  readonly extents: readonly BulkExtent[];
  /** Chunks of the large blobs that were there already. */
  readonly relies: readonly Hash[];
}

/** Makes a blob ready while its group is being planned. */
export type Intake = (blob: BlobPut) => Promise<ReadyBlobs>;

export interface PreparedBatch extends ReadyBlobs {
  /** All changes of the batch but its blobs. */
  readonly changes: Omit<Batch, 'blobs'>;
  /** Records of another store. With them, the batch has no changes and no blobs. */
  readonly adoption?: Adoption;
}
