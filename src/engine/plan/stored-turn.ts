import type { KeyHash } from '../../base/brand.ts';
import type { TurnRow } from '../rows.ts';

/** A turn as stored: the row that callers see, and the fields that find its ancestors and its retries. */
export interface StoredTurn {
  readonly row: TurnRow;
  readonly jump: number;
  /** The parent's jump. */
  readonly sideJump: number;
  readonly idempotency: KeyHash | undefined;
}
