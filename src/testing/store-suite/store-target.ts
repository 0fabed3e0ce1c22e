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
  /** The number of random cases of each comparison, default 25: fewer where each call takes long. */
  readonly randomRuns?: number;
  /** Opens a fresh and empty store. */
  open(opening?: StoreOpening): Promise<OpenedStore>;
  /**
   * Opens the store of `opened` for a user that remembers nothing of it. Where an engine can be opened more than once,
   * this opens another engine, as on another machine. Otherwise it uses the same engine, which is closed with either.
   */
  openBeside(opened: OpenedStore, opening?: StoreOpening): Promise<OpenedStore>;
  /**
   * Damages a line where it is stored, behind the engine's back; the first is 0. The line cannot be read from then on.
   */
  spoilLine(opened: OpenedStore, log: string, line: number): Promise<void>;
  /**
   * Returns every stored byte, in pieces with names. Compressed pieces that are not whole blobs come unpacked as well.
   */
  stored(opened: OpenedStore): Promise<Iterable<readonly [where: string, bytes: Uint8Array]>>;
}
