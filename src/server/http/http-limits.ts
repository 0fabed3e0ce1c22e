/** What one client may cost. */
export interface HttpLimits {
  /** Of a request's body, except where it is stored as it comes in. */
  readonly bodyBytes: number;
  readonly connections: number;
  /** Large answers that all clients together are given at a time, or one that is larger by itself. */
  readonly answerBytes: number;
  /** For the headers of a request to arrive, also the first one: who says nothing is cut off after this, too. */
  readonly headersMs: number;
  /** A client that sends no more of its body, or takes no more of its answer, for this long is cut off. */
  readonly stallMs: number;
  /** A connection without a request is kept this long. */
  readonly keepAliveMs: number;
  /** Streams that have nothing to say say so this often. */
  readonly heartbeatMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytes: 64 * 1024 * 1024,
  answerBytes: 32 * 1024 * 1024,
  connections: 1024,
  headersMs: 10_000,
  stallMs: 60_000,
  keepAliveMs: 65_000,
  heartbeatMs: 15_000,
};

/** Of the head of a request: the position of a reader with many open turns is long. */
export const HEADER_BYTES_MAX = 65_536;
