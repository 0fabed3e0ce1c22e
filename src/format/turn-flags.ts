/** Bits of a turn's `flags`. Bits marked "reads only" are never stored. */
export const TurnFlag = {
  /** The turn is being streamed and has no payload hash yet. */
  OPEN: 1,
  /** The turn's writer gave up. The payload holds the bytes that had arrived. */
  ABORTED: 2,
  /** The turn's writer went away. The payload holds the bytes that had arrived. */
  INTERRUPTED: 4,
  /** Reads only: an overlay replaced the payload. */
  PATCHED: 8,
  /** Reads only: an overlay hides the payload. */
  TOMBSTONE: 16,
  /** The turn was appended with a file-system root. Reads also set this bit when a root was attached later. */
  FS_ROOT: 32,
  /** The caller named the parent. Without this bit the parent was the head. */
  PARENT_GIVEN: 65_536,
  /** The second or a later turn of one batch with an idempotency key. */
  CONTINUES: 131_072,
} as const;
