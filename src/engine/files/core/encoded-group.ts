import type { CollectedMap } from '../../../format/collected-map.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { DocBase } from '../docs/doc-bases.ts';
import type { DocPlace } from '../docs/doc-log.ts';
import type { BlobPlaced } from '../packs/encode-packs.ts';
import type { Tails } from '../truth/state.ts';

/** The encoded form of a group: its bytes and their places. */
export interface EncodedGroup {
  readonly writes: readonly JournalWrite[];
  readonly tails: Tails;
  readonly blobs: readonly BlobPlaced[];
  readonly docs: readonly DocWritten[];
  /** The map of collected turns, when the group adds some. */
  readonly collected: CollectedMap | undefined;
}

export interface DocWritten {
  readonly name: string;
  readonly place: DocPlace;
  /** The base that the next version may be written against. */
  readonly base: DocBase | undefined;
}
