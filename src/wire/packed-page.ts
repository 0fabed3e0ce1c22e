// A page of turns as the call `contexts.page` answers it. A page has hundreds of records, so they are arrays
// of plain values in one JSON text of their own: nobody walks through them to find bigints and bytes, which
// took longer than all else about a page.

/** Ids are plain numbers here, since none is beyond 2^53 - 1. */
export type PackedRow = readonly [
  id: number,
  parent: number,
  context: number,
  depth: number,
  type: string,
  version: number,
  encoding: number,
  /** Null while the turn is open. */
  payload: string | null,
  size: number,
  flags: number,
  createdAt: number,
];

/** What a patch makes of a turn: the patch itself, and what shows instead of the turn's own. */
export interface PackedOverlay {
  /** Which turn of the page. */
  readonly index: number;
  readonly patch: unknown;
  readonly encoding: number;
  readonly payload: string | undefined;
  readonly size: number;
}

export interface PackedPage {
  /** From older to newer: a JSON array of `PackedRow`, as UTF-8. */
  readonly rows: Uint8Array;
  /** One for each row. Undefined when there is none to show; null when it is too large for a page, and must be asked for. */
  readonly payloads: readonly (Uint8Array | null | undefined)[];
  readonly overlays: readonly PackedOverlay[];
  /** Why turns are tombstones or were aborted, by their place in the page. */
  readonly reasons: readonly (readonly [index: number, reason: string])[];
  readonly headDepth: number;
  readonly cursor?: number;
  readonly nextDepth?: number;
}
