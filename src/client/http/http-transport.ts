import { QuipuError, isQuipuError, invalid } from '../../base/errors.ts';
import { toStream } from '../../base/to-stream.ts';
import { fromCall, toCall, inOne } from '../../wire/call-values.ts';
import { unavailable } from '../transport.ts';
import type { CallOptions, Transport } from '../transport.ts';
import { HttpAsker, aborted, lost, readFramed, readWhole } from './http-asker.ts';
import type { HttpClientOptions } from './http-asker.ts';
import { parseBoundedJson } from '../../base/bounded-json.ts';
import type { ErrorCode, ErrorData } from '../../base/errors.ts';
import type { CallBody } from '../../wire/call-values.ts';

const TYPE = 'application/x-quipu-call';

export interface HttpTransportOptions extends HttpClientOptions {
  /**
   * Send uploads as they come instead of collecting them first. Default true in Node, where this works on every
   * connection; browsers need HTTP/2 for it.
   */
  readonly streamUploads?: boolean;
}

/** The verbs of a store over HTTP, with `fetch` alone: this transport also runs in a browser. */
export class HttpTransport implements Transport {
  readonly #asker: HttpAsker;
  readonly #streamUploads: boolean;
  /** The requests in progress. If each one added a listener to one signal, Node would report a leak. */
  readonly #reaching = new Set<AbortController>();
  #closed = false;

  constructor(url: string, options: HttpTransportOptions = {}) {
    this.#asker = new HttpAsker(url, options);
    this.#streamUploads = options.streamUploads ?? isNode();
  }

  readonly call: Transport['call'] = async (method, args, options = {}) =>
    this.#whole(method, encodeBody(toCall(args)), options);

  async *stream(
    method: string,
    args: readonly unknown[],
    options: CallOptions = {},
  ): AsyncGenerator<unknown, void, undefined> {
    using reach = this.#reach(options.signal);
    try {
      const body = encodeBody(toCall(args));
      const response = await this.#post(method, body, { ...options, signal: reach.signal });
      for await (const bytes of readFramed(response)) {
        const piece = decodePiece(bytes);
        if (piece.kind === 'end') return;
        if (piece.kind === 'error') throw piece.error;
        yield fromCall(piece.body);
      }
      throw unavailable('the server went away before the stream had ended');
    } catch (error) {
      throw this.#explain(error, options.signal);
    } finally {
      // Tells the server to stop, also when the reader stopped early.
      reach.abort();
    }
  }

  readonly upload: Transport['upload'] = async (method, args, body, options = {}) => {
    const pieces = withArguments(encodeBody(toCall(args)), body);
    const sent = this.#streamUploads ? toStream(pieces) : await gather(pieces);
    // The bytes may take any time: only a limit that the caller set counts.
    return this.#whole(method, sent, { timeoutMs: 0, ...options });
  };

  close(): Promise<void> {
    this.#closed = true;
    for (const reach of this.#reaching) reach.abort();
    return Promise.resolve();
  }

  async #whole(
    method: string,
    body: NonNullable<RequestInit['body']>,
    options: CallOptions,
  ): Promise<unknown> {
    using reach = this.#reach(options.signal);
    try {
      const response = await this.#post(method, body, { ...options, signal: reach.signal });
      return fromCall(decodeBody(await readWhole(response, ANSWER_BYTES_MAX)));
    } catch (error) {
      throw this.#explain(error, options.signal);
    }
  }

  #post(
    method: string,
    body: NonNullable<RequestInit['body']>,
    { signal, timeoutMs }: CallOptions,
  ): Promise<Response> {
    const path = `/v1/call/${encodeURIComponent(method)}`;
    const headers = { 'Content-Type': TYPE };
    return this.#asker.ask({ method: 'POST', path, headers, body, signal, timeoutMs });
  }

  /** Aborts with the caller's signal and with the transport. The caller must dispose of it. */
  #reach(given: AbortSignal | undefined): AbortController & Disposable {
    if (this.#closed) throw closedError();
    const reach = new AbortController();
    const abort = (): void => reach.abort();
    this.#reaching.add(reach);
    given?.addEventListener('abort', abort);
    if (given?.aborted === true) abort();
    return Object.assign(reach, {
      [Symbol.dispose]: () => {
        this.#reaching.delete(reach);
        given?.removeEventListener('abort', abort);
      },
    });
  }

  #explain(error: unknown, given: AbortSignal | undefined): Error {
    if (given?.aborted === true) return aborted(given);
    if (this.#closed) return closedError();
    return isQuipuError(error) ? error : lost(error);
  }
}

function closedError(): QuipuError<'CLOSED'> {
  return new QuipuError('CLOSED', 'the client is closed', { what: 'client' });
}

/** An answer is bounded to a few MiB, and a single record of it to 64 MiB. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/** u32 length of the arguments, the arguments, then the body. */
async function* withArguments(
  args: Uint8Array,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, args.length, true);
  yield length;
  yield args;
  yield* body;
}

async function gather(pieces: AsyncIterable<Uint8Array>): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of pieces) parts.push(new Uint8Array(piece));
  return new Blob(parts);
}

function isNode(): boolean {
  return 'process' in globalThis && typeof globalThis.process?.versions?.node === 'string';
}

// The bodies of CALL and STREAM, using only features of a browser. wire/call.ts defines their meaning; a test keeps the
// two in step.

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** u32 json_len, json, u32 blob_count, count × { u32 len, bytes }. */
export function encodeBody({ json, blobs }: CallBody): Uint8Array<ArrayBuffer> {
  const text = encoder.encode(json);
  const size = blobs.reduce((sum, blob) => sum + 4 + blob.length, 8 + text.length);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, text.length, true);
  bytes.set(text, 4);
  let at = 4 + text.length;
  view.setUint32(at, blobs.length, true);
  at += 4;
  for (const blob of blobs) {
    view.setUint32(at, blob.length, true);
    bytes.set(inOne(blob), at + 4);
    at += 4 + blob.length;
  }
  return bytes;
}

export function decodeBody(bytes: Uint8Array): CallBody {
  return new BodyReader(bytes).body();
}

export type StreamPiece =
  | { readonly kind: 'item'; readonly body: CallBody }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly error: QuipuError };

/** u32 kind, then the body of a reply, nothing, or the body of an error. */
export function decodePiece(bytes: Uint8Array): StreamPiece {
  const reader = new BodyReader(bytes);
  switch (reader.u32()) {
    case 1:
      return { kind: 'item', body: reader.body() };
    case 2:
      return { kind: 'end' };
    case 3:
      return { kind: 'error', error: reader.error() };
    default:
      throw invalid('stream', 'has a piece of a kind that is not known');
  }
}

class BodyReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  u16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  u32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  body(): CallBody {
    const json = this.#text(this.u32());
    const count = this.u32();
    const blobs: Uint8Array[] = [];
    for (let index = 0; index < count; index += 1) blobs.push(this.#slice(this.u32()));
    return { json, blobs };
  }

  error(): QuipuError {
    this.u32();
    const message = this.#text(this.u32());
    const code = this.#text(this.u16()) as ErrorCode;
    const data = parseBoundedJson(this.#text(this.u32())) as ErrorData[ErrorCode];
    return new QuipuError(code, message, data);
  }

  #text(length: number): string {
    return decoder.decode(this.#slice(length));
  }

  #slice(length: number): Uint8Array {
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  #take(length: number): number {
    if (this.#at + length > this.#bytes.length) throw invalid('answer', 'is cut off');
    const start = this.#at;
    this.#at += length;
    return start;
  }
}
