import type { Engine } from '../../engine/engine.ts';
import type { Store } from '../../store/store.ts';

export interface StoreOpening {
  /** Milliseconds since 1970, for the engine and for the store; the machine's clock when absent. */
  readonly clock?: () => number;
}

export interface OpenedStore {
  readonly engine: Engine;
  readonly store: Store;
}

/** A store under test, with the engine below it, for the suites of the kinds of thread. */
export interface StoreTarget {
  readonly name: string;
  /** How many random cases each comparison goes through, default 25: fewer where each call takes long. */
  readonly randomRuns?: number;
  /** A store of its own, fresh and empty. */
  open(opening?: StoreOpening): Promise<OpenedStore>;
  /**
   * The store that `opened` is, for someone who remembers nothing of it. Where an engine can be opened more than
   * once it is another one, as on another machine; else it is the same engine, and closed with either.
   */
  openBeside(opened: OpenedStore, opening?: StoreOpening): Promise<OpenedStore>;
  /** Damages a line where it is stored, behind the engine's back; the first is 0. It cannot be read from then on. */
  spoilLine(opened: OpenedStore, log: string, line: number): Promise<void>;
  /** Every byte that is stored, in pieces with names. Compressed ones that are not whole blobs, unpacked as well. */
  stored(opened: OpenedStore): Promise<Iterable<readonly [where: string, bytes: Uint8Array]>>;
}
