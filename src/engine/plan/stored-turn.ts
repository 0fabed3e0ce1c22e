import type { KeyHash } from '../../base/brand.ts';
import type { TurnRow } from '../rows.ts';

/** A turn as stored: what callers see, and what finds its ancestors and its retries. */
export interface StoredTurn {
  readonly row: TurnRow;
  readonly jump: number;
  /** The parent's jump. */
  readonly sideJump: number;
  readonly idempotency: KeyHash | undefined;
}
