// How much one client may take of the server. Limits of single messages are those of the protocol.

import { TOTAL_BYTES } from '../byte-budget.ts';

export interface BinaryLimits {
  /** Connections at a time, over all listeners. One more is told 503 and closed. */
  readonly connections: number;
  /** Requests of one connection that are read and not answered; then its socket is not read on. */
  readonly pipelinedRequests: number;
  readonly pipelinedBytes: number;
  /** Requests of all connections that are read and not answered; then large ones are told 429. */
  readonly totalBytes: number;
  /** Bytes that one socket has not taken yet; then its connection is answered no further. */
  readonly unsentBytes: number;
  /** What may wait for one subscriber; more ends the subscription with 429. */
  readonly subscriptionBytes: number;
  /** Subscriptions and streams of one connection. */
  readonly streams: number;
  readonly uploads: number;
  /** A request is answered within this time, if only with 504. */
  readonly answerMs: number;
  /** To say anything at all, and who one is where that is needed. */
  readonly helloMs: number;
  /** A peer that stops in the middle of a frame, or stops taking replies, is cut off after this. */
  readonly stallMs: number;
  /** How long a connection that is to be closed is still read, so that its last reply arrives. */
  readonly discardMs: number;
  /** An upload without a new piece is given up after this. */
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
