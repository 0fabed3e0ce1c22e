/** Bits of the `flags` of a context's head. Those marked "reads only" are never stored. */
export const ContextFlag = {
  /** Stored only: the context was removed. It reads as if it were not there. */
  REMOVED: 1,
  /** Reads only: a turn is being streamed into it. */
  OPEN: 2,
  /** Reads only: it was forked from a turn. */
  FORKED: 4,
} as const;
