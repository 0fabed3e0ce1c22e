import type { Engine } from '../../engine/engine.ts';
import type { Store } from '../../store/store.ts';
import type { Identity, Needed } from '../access/access.ts';

// A verb of the store that travels by name: CALL on the binary protocol, POST /v1/call/<name> on HTTP.
// Arguments and results are plain data and byte arrays, as wire/call-values.ts packs them.

/** The caller of a verb, and the signal that ends its call. */
export interface Caller {
  readonly identity: Identity;
  /** Aborts when the connection ends, the call is cancelled, or the server shuts down. */
  readonly signal: AbortSignal;
}

interface Handler {
  readonly needs: Needed;
}

/** A handler with one answer. */
export interface AnswerHandler extends Handler {
  readonly kind: 'answer';
  run(args: readonly unknown[], caller: Caller): Promise<unknown>;
}

/** A handler with many answers, pulled as fast as the caller takes them. */
export interface StreamHandler extends Handler {
  readonly kind: 'stream';
  run(args: readonly unknown[], caller: Caller): AsyncIterable<unknown>;
}

/**
 * A handler with one answer to arguments and a body of any length. The body is read as fast as the handler takes it.
 */
export interface UploadHandler extends Handler {
  readonly kind: 'upload';
  run(args: readonly unknown[], body: AsyncIterable<Uint8Array>, caller: Caller): Promise<unknown>;
}

export type CallHandler = AnswerHandler | StreamHandler | UploadHandler;

/** Every verb by its name, such as `engine.getTurn`. */
export type CallTable = ReadonlyMap<string, CallHandler>;

/** The objects that a server gives access to: one engine, and the store over it. */
export interface Served {
  readonly engine: Engine;
  readonly store: Store;
}
