import { parseBoundedJson } from '../../base/bounded-json.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import type { ErrorCode, ErrorData } from '../../base/errors.ts';
import { inOne } from '../../wire/call-values.ts';
import type { CallBody } from '../../wire/call-values.ts';

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
