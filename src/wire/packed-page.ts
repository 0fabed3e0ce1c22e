import type { PackedTurns } from './packed-turns.ts';

/** The effect of a patch on a turn: the patch itself, and the values that replace the turn's own. */
export interface PackedOverlay {
  /** The place of the turn in the page. */
  readonly index: number;
  readonly patch: unknown;
  readonly encoding: number;
  readonly payload: string | undefined;
  readonly size: number;
}

/** A page of turns as the call `contexts.page` answers it. */
export interface PackedPage<P = Uint8Array> {
  /**
   * The records are packed, because a page has hundreds of them: nobody walks through them to find bigints and bytes.
   */
  readonly turns: PackedTurns<P>;
  readonly overlays: readonly PackedOverlay[];
  /** The reasons why turns are tombstones or were aborted, by their place in the page. */
  readonly reasons: readonly (readonly [index: number, reason: string])[];
  readonly headDepth: number;
  readonly cursor: bigint | undefined;
  readonly nextDepth: number | undefined;
}
