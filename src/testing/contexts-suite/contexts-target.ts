import type { Store } from '../../store/store.ts';

/** A store under test, with any engine behind it. */
export interface ContextsTarget {
  readonly name: string;
  /** The number of random cases of each comparison, default 25: fewer where each call takes long. */
  readonly randomRuns?: number;
  /** Opens a fresh and empty store that takes payloads up to `maxPayloadBytes`. */
  open(options: { readonly maxPayloadBytes: number }): Promise<Store>;
  /**
   * Opens the place of `store` again, after `store` was closed. Without this method the tests that need it are left
   * out.
   */
  reopen?(store: Store): Promise<Store>;
}

/** A small limit, so that payloads beyond it cost the suite little. */
export const PAYLOAD_BYTES_MAX = 1_048_576;
