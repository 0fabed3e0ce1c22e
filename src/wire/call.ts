import type { ByteParts } from './byte-parts.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import type { Parts } from './byte-writer.ts';
import type { CallBody } from './call-values.ts';
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

export function writeCallBody(writer: ByteWriter, body: CallBody): void {
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

export function readCallBody(reader: ByteReader): CallBody {
  const json = reader.text(reader.size32('json', CALL_JSON_BYTES_MAX), 'json');
  const count = reader.items32('blob', 4);
  if (count > CALL_BLOBS_MAX) throw reader.wrong('blob_count', `is at most ${CALL_BLOBS_MAX}`);
  const blobs: Uint8Array[] = [];
  for (let index = 0; index < count; index += 1) {
    blobs.push(reader.bytes(reader.length32('blob', FRAME_PAYLOAD_MAX), 'blob'));
  }
  return { json, blobs };
}
