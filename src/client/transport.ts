// A transport carries a verb to a server: over a socket or over HTTP. The code above does not know which.
//
// Errors are the QuipuErrors that the server threw. When the connection was lost before the answer came, the error is
// UNAVAILABLE, and `isOutcomeUnknown` says whether the request may have been carried out.

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface Transport {
  call(method: string, args: readonly unknown[], options?: CallOptions): Promise<unknown>;
  /** Ending the iteration tells the server to stop. */
  stream(method: string, args: readonly unknown[], options?: CallOptions): AsyncIterable<unknown>;
  upload(
    method: string,
    args: readonly unknown[],
    body: AsyncIterable<Uint8Array>,
    options?: CallOptions,
  ): Promise<unknown>;
  /** Idempotent. Requests in progress get CLOSED. */
  close(): Promise<void>;
}
