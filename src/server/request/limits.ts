// The limits on what one client may take of the server. The protocol sets the limits of single messages.

import { TOTAL_BYTES } from '../memory/byte-budget.ts';

export interface BinaryLimits {
  /** Connections at a time, over all listeners. A connection beyond that is told 503 and closed. */
  readonly connections: number;
  /** Requests of one connection that are read and not answered. At the limit the server stops reading its socket. */
  readonly pipelinedRequests: number;
  readonly pipelinedBytes: number;
  /** Bytes of requests and replies that all connections hold together. At the limit large requests are told 429. */
  readonly totalBytes: number;
  /** Bytes that one socket has not taken yet. At the limit the server stops answering its connection. */
  readonly unsentBytes: number;
  /** Bytes that may wait for one subscriber. More bytes end the subscription with 429. */
  readonly subscriptionBytes: number;
  /** Subscriptions and streams of one connection. */
  readonly streams: number;
  readonly uploads: number;
  /** The server answers a request within this time, if only with 504. */
  readonly answerMs: number;
  /** A client must send its first message within this time, and authenticate where that is needed. */
  readonly helloMs: number;
  /** A peer is cut off after this time if it stops in the middle of a frame, or stops taking replies. */
  readonly stallMs: number;
  /** The server reads a connection that it closes for this much longer, so that the last reply arrives. */
  readonly discardMs: number;
  /** An upload that gets no new piece for this long is given up. */
  readonly uploadIdleMs: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: BinaryLimits = {
  connections: 1024,
  pipelinedRequests: 1024,
  pipelinedBytes: 64 * MIB,
  totalBytes: TOTAL_BYTES,
  unsentBytes: MIB,
  subscriptionBytes: 8 * MIB,
  streams: 256,
  uploads: 64,
  answerMs: 25_000,
  helloMs: 10_000,
  stallMs: 30_000,
  discardMs: 5000,
  uploadIdleMs: 300_000,
};
