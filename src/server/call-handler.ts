import type { Identity, Needed } from './access.ts';

// A verb of the store that travels by name: CALL on the binary protocol, POST /v1/call/<name> on HTTP.
// Arguments and results are plain data and byte arrays, as wire/call-values.ts packs them.

/** Who calls, and how long it may go on. */
export interface Caller {
  readonly identity: Identity;
  /** Aborts when the connection ends, the call is cancelled, or the server goes away. */
  readonly signal: AbortSignal;
}

interface Handler {
  readonly needs: Needed;
}

/** One answer. */
export interface AnswerHandler extends Handler {
  readonly kind: 'answer';
  run(args: readonly unknown[], caller: Caller): Promise<unknown>;
}

/** Many answers, pulled as fast as the caller takes them. */
export interface StreamHandler extends Handler {
  readonly kind: 'stream';
  run(args: readonly unknown[], caller: Caller): AsyncIterable<unknown>;
}

/** One answer to arguments and a body of any length, read as fast as the handler takes it. */
export interface UploadHandler extends Handler {
  readonly kind: 'upload';
  run(args: readonly unknown[], body: AsyncIterable<Uint8Array>, caller: Caller): Promise<unknown>;
}

export type CallHandler = AnswerHandler | StreamHandler | UploadHandler;

/** Every verb by its name, such as `engine.getTurn`. */
export type CallTable = ReadonlyMap<string, CallHandler>;
