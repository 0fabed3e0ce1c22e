import type { ByteParts, CallBody } from './call-values.ts';
import { ByteReader, ByteWriter } from './byte-codec.ts';
import type { Parts } from './byte-codec.ts';
import { readError, writeError } from './error-message.ts';
import type { ErrorMessage } from './error-message.ts';
import { REQUEST_ID_BYTES } from './frame.ts';
import {
  CALL_BLOBS_MAX,
  CALL_JSON_BYTES_MAX,
  FRAME_PAYLOAD_MAX,
  METHOD_BYTES_MAX,
} from './limits.ts';

// Request: u16 method_len, method, body.      Reply: body.
// Body:    u32 json_len, json, u32 blob_count, count × { u32 len, bytes }.      See call-values.ts.

/** A verb of a store that has no message of its own. */
export interface Call {
  readonly method: string;
  readonly body: CallBody;
}

export function encodeCall(call: Call): Parts {
  const writer = new ByteWriter().sized16(call.method);
  writeCallBody(writer, call.body);
  return writer.parts();
}

export function decodeCall(payload: Uint8Array): Call {
  const reader = new ByteReader(payload, 'CALL');
  const length = reader.u16('method_len');
  if (length > METHOD_BYTES_MAX) {
    throw reader.wrong('method', `has more than ${METHOD_BYTES_MAX} bytes`);
  }
  return { method: reader.text(length, 'method'), body: readCallBody(reader) };
}

export function encodeCallReply(body: CallBody): Parts {
  const writer = new ByteWriter();
  writeCallBody(writer, body);
  return writer.parts();
}

export function decodeCallReply(payload: Uint8Array): CallBody {
  return readCallBody(new ByteReader(payload, 'CALL reply'));
}

function writeCallBody(writer: ByteWriter, body: CallBody): void {
  writer.sized32(body.json).u32(body.blobs.length);
  for (const blob of body.blobs) {
    if (blob instanceof Uint8Array) writer.sized32(blob);
    else writeParts(writer, blob);
  }
}

function writeParts(writer: ByteWriter, parts: ByteParts): void {
  writer.u32(parts.length);
  for (const part of parts) writer.bytes(part);
}

function readCallBody(reader: ByteReader): CallBody {
  const json = reader.text(reader.size32('json', CALL_JSON_BYTES_MAX), 'json');
  const count = reader.items32('blob', 4);
  if (count > CALL_BLOBS_MAX) throw reader.wrong('blob_count', `is at most ${CALL_BLOBS_MAX}`);
  const blobs: Uint8Array[] = [];
  for (let index = 0; index < count; index += 1) {
    blobs.push(reader.bytes(reader.length32('blob', FRAME_PAYLOAD_MAX), 'blob'));
  }
  return { json, blobs };
}

// The pieces of a long answer to a CALL, in frames of type STREAM with the flag PUSHED and the request id of the CALL:
// u32 kind, then a body. The body of an item is that of a CALL reply; the body of an error is that of an ERROR.

const Kind = { ITEM: 1, END: 2, ERROR: 3 } as const;

export type StreamPush =
  | { readonly kind: 'item'; readonly body: CallBody }
  | { readonly kind: 'end' }
  | { readonly kind: 'error'; readonly error: ErrorMessage };

export function encodeStream(push: StreamPush): Parts {
  const writer = new ByteWriter();
  switch (push.kind) {
    case 'item':
      writeCallBody(writer.u32(Kind.ITEM), push.body);
      break;
    case 'end':
      writer.u32(Kind.END);
      break;
    case 'error':
      writeError(writer.u32(Kind.ERROR), push.error);
  }
  return writer.parts();
}

export function decodeStream(payload: Uint8Array): StreamPush {
  const reader = new ByteReader(payload, 'STREAM');
  const kind = reader.u32('kind');
  switch (kind) {
    case Kind.ITEM:
      return { kind: 'item', body: readCallBody(reader) };
    case Kind.END:
      return { kind: 'end' };
    case Kind.ERROR:
      return { kind: 'error', error: readError(reader) };
    default:
      throw reader.wrong('kind', `is 1, 2 or 3, got ${kind}`);
  }
}

// UNSUBSCRIBE ends the stream of a CALL, or a SUBSCRIBE: the request id of that request. Reply: the same.

/** Encodes both the request and the reply, which are alike. */
export function encodeUnsubscribe(subscribeReqId: Uint8Array): Parts {
  return [subscribeReqId];
}

export function decodeUnsubscribe(payload: Uint8Array): Buffer {
  return new ByteReader(payload, 'UNSUBSCRIBE').bytes(REQUEST_ID_BYTES, 'subscribe_req_id');
}
