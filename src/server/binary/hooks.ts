// What a server tells of its work, for logs and metrics. Hooks are called on the hot path and must not throw.

/** One connection, as it is known so far. */
export interface SessionFacts {
  readonly id: bigint;
  /** Address and port of the peer; empty for a Unix socket. */
  readonly remote: string;
  /** Who it is; undefined before that is known. Never a token. */
  readonly identity: string | undefined;
  /** What the client calls itself. */
  readonly tag: string;
}

export interface AnsweredRequest {
  readonly session: SessionFacts;
  /** Such as `APPEND_TURN`, or `CALL engine.commit`. */
  readonly message: string;
  /** 0, or the number of the ERROR. */
  readonly code: number;
  /** From the last byte of the request to the reply's way into the socket. */
  readonly ms: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface BinaryHooks {
  readonly opened?: ((session: SessionFacts) => void) | undefined;
  readonly closed?: ((session: SessionFacts) => void) | undefined;
  /** A connection over the limit. */
  readonly refused?: (() => void) | undefined;
  readonly answered?: ((request: AnsweredRequest) => void) | undefined;
  readonly received?: ((bytes: number) => void) | undefined;
  readonly sent?: ((bytes: number) => void) | undefined;
  /** Something went wrong on this side. The peer was told no more than that. */
  readonly failed?: ((error: unknown, session: SessionFacts) => void) | undefined;
}
