import type { Hash } from '../../base/brand.ts';
import type { Adoption } from '../adoption.ts';
import type { Batch, Change, Committed } from '../batch.ts';
import type { BulkExtent, PreparedBlob } from './prepared-blob.ts';

/** A batch with its blobs compressed, and its large ones written already. */
export interface PreparedBatch {
  /** All that is not said below. */
  readonly rest: Omit<Batch, 'blobs'>;
  readonly blobs: readonly PreparedBlob[];
  readonly extents: readonly BulkExtent[];
  /** Chunks of its large blobs that were there already. */
  readonly relies: readonly Hash[];
  /** Records of another store, beside which the rest is empty. */
  readonly adoption?: Adoption;
}

/** What a batch will have made true once its group is durable. */
export interface Planned {
  /** False when everything it says was true before: nothing needs to be stored for it. */
  readonly changed: boolean;
  toCommitted(seq: number): Committed;
  /** Undefined when listeners have nothing to hear. */
  toChange(seq: number): Change | undefined;
}
