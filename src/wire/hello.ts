import { ByteReader, ByteWriter } from './byte-codec.ts';
import type { Parts } from './byte-codec.ts';
import { parseJsonObject } from '../base/fields.ts';
import { META_BYTES_MAX, NAME_BYTES_MAX } from './limits.ts';

// Request: nothing at all, or u16 version, u16 tag_len, tag, u32 meta_len, meta (JSON).
// Reply:   u64 session, u16 version, and for clients that know Quipu u32 caps_len, caps (JSON).
export const PROTOCOL_VERSION = 1;

export interface HelloRequest {
  /** 0 in the legacy form, which is empty. */
  readonly version: number;
  readonly tag: string;
  /** JSON as sent; see `parseHelloMeta`. */
  readonly meta: string;
}

/** The fields that Quipu reads in the meta of a HELLO. */
export interface HelloMeta {
  /** Authenticates the connection. Never log the token. */
  readonly token: string | undefined;
  /** The client knows Quipu's extensions of the protocol. */
  readonly quipu: boolean;
}

export interface HelloReply {
  readonly sessionId: bigint;
  readonly version: number;
  /** JSON text, only for clients that know Quipu. */
  readonly caps: string | undefined;
}

export function encodeHello(hello: HelloRequest): Parts {
  if (hello.version === 0) return [];
  return new ByteWriter().u16(hello.version).sized16(hello.tag).sized32(hello.meta).parts();
}

export function decodeHello(payload: Uint8Array): HelloRequest {
  if (payload.length === 0) return { version: 0, tag: '', meta: '' };
  const reader = new ByteReader(payload, 'HELLO');
  const version = reader.u16('protocol_version');
  const tagLength = reader.u16('tag_len');
  const tag = reader.text(tagLength, 'client_tag');
  if (tagLength > NAME_BYTES_MAX) {
    throw reader.wrong('client_tag', `has more than ${NAME_BYTES_MAX} bytes`);
  }
  const meta = reader.text(reader.length32('meta', META_BYTES_MAX), 'meta');
  return { version, tag, meta };
}

export function helloMeta(meta: HelloMeta): string {
  return JSON.stringify({ token: meta.token, quipu: meta.quipu ? 1 : undefined });
}

/** Ignores everything that it does not understand: other clients may put anything here. */
export function parseHelloMeta(meta: string): HelloMeta {
  const object = parseJsonObject(meta);
  const token = object?.['token'];
  return {
    token: typeof token === 'string' ? token : undefined,
    quipu: object?.['quipu'] === 1,
  };
}

export function encodeHelloReply(reply: HelloReply): Parts {
  const writer = new ByteWriter().u64(reply.sessionId).u16(reply.version);
  if (reply.caps !== undefined) writer.sized32(reply.caps);
  return writer.parts();
}

export function decodeHelloReply(payload: Uint8Array): HelloReply {
  const reader = new ByteReader(payload, 'HELLO reply');
  const sessionId = reader.u64('session_id');
  const version = reader.u16('protocol_version');
  const hasCaps = reader.remaining > 0;
  const caps = hasCaps ? reader.text(reader.length32('caps', META_BYTES_MAX), 'caps') : undefined;
  return { sessionId, version, caps };
}
