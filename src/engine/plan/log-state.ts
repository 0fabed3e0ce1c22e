/** How long a log is. */
export interface LogState {
  readonly lines: number;
  readonly bytes: number;
  /** How many pieces it was written in; 0 where nobody counts them. */
  readonly extents: number;
}

export const EMPTY_LOG: LogState = { lines: 0, bytes: 0, extents: 0 };
