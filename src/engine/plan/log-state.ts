/** The length of a log. */
export interface LogState {
  readonly lines: number;
  readonly bytes: number;
  /** The number of pieces that the log was written in. 0 where they are not counted. */
  readonly extents: number;
}

export const EMPTY_LOG: LogState = { lines: 0, bytes: 0, extents: 0 };
