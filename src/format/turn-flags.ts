/** Bits of a turn's `flags`. Those marked "reads only" are never stored. */
export const TurnFlag = {
  /** It is being streamed and has no payload hash yet. */
  OPEN: 1,
  /** Its writer gave up; the payload is what had arrived. */
  ABORTED: 2,
  /** Its writer went away; the payload is what had arrived. */
  INTERRUPTED: 4,
  /** Reads only: an overlay replaced the payload. */
  PATCHED: 8,
  /** Reads only: an overlay hides the payload. */
  TOMBSTONE: 16,
  /** It came with a file-system root. Reads also set it when it was given one later. */
  FS_ROOT: 32,
  /** The caller named the parent; without it the parent was the head. */
  PARENT_GIVEN: 65_536,
  /** The second or a later turn of one batch with an idempotency key. */
  CONTINUES: 131_072,
} as const;
