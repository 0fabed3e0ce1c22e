// A server reports its work through these hooks, for logs and metrics. Hooks run on the hot path and must not throw.

/** The facts known so far about one connection. */
export interface SessionFacts {
  readonly id: bigint;
  /** Address and port of the peer; empty for a Unix socket. */
  readonly remote: string;
  /** The name of the identity; undefined until the client is authenticated. Never a token. */
  readonly identity: string | undefined;
  /** The name that the client gives itself. */
  readonly tag: string;
}

export interface AnsweredRequest {
  readonly session: SessionFacts;
  /** The message, such as `APPEND_TURN` or `CALL engine.commit`. */
  readonly message: string;
  /** 0, or the error number of the ERROR message. */
  readonly code: number;
  /** Milliseconds from the last byte of the request until the reply is written to the socket. */
  readonly ms: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface BinaryHooks {
  readonly opened?: ((session: SessionFacts) => void) | undefined;
  readonly closed?: ((session: SessionFacts) => void) | undefined;
  /** Called for a connection over the limit. */
  readonly refused?: (() => void) | undefined;
  readonly answered?: ((request: AnsweredRequest) => void) | undefined;
  readonly received?: ((bytes: number) => void) | undefined;
  readonly sent?: ((bytes: number) => void) | undefined;
  /** Called for a failure of the server itself. The peer was told no more than that something went wrong. */
  readonly failed?: ((error: unknown, session: SessionFacts) => void) | undefined;
}
