// A page of turns as the call `contexts.page` answers it. Records are arrays, in the order of the fields
// below: a page has hundreds of them, and names would be most of it. Ids are plain numbers here, since
// none is beyond 2^53 - 1.

export const TURN_FIELDS = [
  'id',
  'parent',
  'context',
  'depth',
  'type',
  'version',
  'encoding',
  'payload',
  'size',
  'flags',
  'createdAt',
] as const;

/** What a patch makes of a turn: the patch itself, and what shows instead of the turn's own. */
export interface PackedOverlay {
  readonly patch: unknown;
  readonly encoding: number;
  readonly payload: string | undefined;
  readonly size: number;
}

export type PackedTurn = readonly [
  row: readonly (string | number | undefined)[],
  /** Undefined when there is none to show; null when it is too large for a page, and must be asked for. */
  bytes: Uint8Array | null | undefined,
  reason: string | undefined,
  overlay: PackedOverlay | undefined,
];

export interface PackedPage {
  /** From older to newer. */
  readonly turns: readonly PackedTurn[];
  readonly headDepth: number;
  readonly cursor?: number;
  readonly nextDepth?: number;
}
