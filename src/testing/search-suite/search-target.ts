import type { SearchSettings } from '../../search/contract/search.ts';
import type { Store } from '../../store/store.ts';

export interface SearchOpening {
  readonly search?: SearchSettings;
}

/** A store under test that has a search index. */
export interface SearchTarget {
  readonly name: string;
  /** The number of random stores to compare with a scan, default 10. */
  readonly randomRuns?: number;
  /** False where functions cannot be given to the process that keeps the data. Default true. */
  readonly takesExtractors?: boolean;
  /** False where session files are kept away from the store. Default true. */
  readonly keepsSessions?: boolean;
  /** A new folder for the files of a session, where the store has no place for them. */
  sessionFolder?(): string;
  /** Opens a fresh and empty store. */
  open(opening?: SearchOpening): Promise<Store>;
  /** Returns every byte of the index, in pieces with names. Absent where they are out of reach. */
  indexBytes?(store: Store): Promise<Iterable<readonly [where: string, bytes: Uint8Array]>>;
}
