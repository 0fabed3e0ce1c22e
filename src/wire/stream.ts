import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import type { Parts } from './byte-writer.ts';
import { readCallBody, writeCallBody } from './call.ts';
import type { CallBody } from './call-values.ts';
import { readError, writeError } from './error-message.ts';
import type { ErrorMessage } from './error-message.ts';
import { REQUEST_ID_BYTES } from './frame.ts';

// The pieces of a long answer to a CALL, in frames of type STREAM with the flag PUSHED and the request id of the CALL:
// u32 kind, then a body. The body of an item is that of a CALL reply; the body of an error is that of an ERROR.
//
// UNSUBSCRIBE ends the stream of a CALL, or a SUBSCRIBE: the request id of that request. Reply: the same.

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

/** Encodes both the request and the reply, which are alike. */
export function encodeUnsubscribe(subscribeReqId: Uint8Array): Parts {
  return [subscribeReqId];
}

export function decodeUnsubscribe(payload: Uint8Array): Buffer {
  return new ByteReader(payload, 'UNSUBSCRIBE').bytes(REQUEST_ID_BYTES, 'subscribe_req_id');
}
