import type { Engine } from '../../engine/engine.ts';
import type { Store } from '../../store/store.ts';

/** The objects that a server gives access to: one engine, and the store over it. */
export interface Served {
  readonly engine: Engine;
  readonly store: Store;
}
