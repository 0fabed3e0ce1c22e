import type { Hash } from '../../base/brand.ts';
import type { Adoption } from '../adoption.ts';
import type { Batch, Change, Committed } from '../batch.ts';
import type { BulkExtent, PreparedBlob } from './prepared-blob.ts';

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

/** The result that a batch will have once its group is durable. */
export interface Planned {
  /** False when everything in the batch was true before: then nothing needs to be stored. */
  readonly changed: boolean;
  toCommitted(seq: number): Committed;
  /** Undefined when there is no news for listeners. */
  toChange(seq: number): Change | undefined;
}
