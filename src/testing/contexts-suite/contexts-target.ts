import type { Store } from '../../store/store.ts';

/** A store under test, whatever is behind it. */
export interface ContextsTarget {
  readonly name: string;
  /** How many random cases each comparison goes through, default 25: fewer where each call takes long. */
  readonly randomRuns?: number;
  /** A store of its own, fresh and empty, that takes payloads up to `maxPayloadBytes`. */
  open(options: { readonly maxPayloadBytes: number }): Promise<Store>;
  /** Opens again what `store` was opened on, after `store` was closed. Tests of it are left out when absent. */
  reopen?(store: Store): Promise<Store>;
}

/** Small, so that being too large costs the suite little. */
export const PAYLOAD_BYTES_MAX = 1_048_576;
