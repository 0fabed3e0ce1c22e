import type { PackedTurns } from './packed-turns.ts';

/** What a patch makes of a turn: the patch itself, and what shows instead of the turn's own. */
export interface PackedOverlay {
  /** Which turn of the page. */
  readonly index: number;
  readonly patch: unknown;
  readonly encoding: number;
  readonly payload: string | undefined;
  readonly size: number;
}

/** A page of turns as the call `contexts.page` answers it. */
export interface PackedPage<P = Uint8Array> {
  /** A page has hundreds of records: nobody walks through them to find bigints and bytes. */
  readonly turns: PackedTurns<P>;
  readonly overlays: readonly PackedOverlay[];
  /** Why turns are tombstones or were aborted, by their place in the page. */
  readonly reasons: readonly (readonly [index: number, reason: string])[];
  readonly headDepth: number;
  readonly cursor: bigint | undefined;
  readonly nextDepth: number | undefined;
}
