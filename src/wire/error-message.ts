import { QuipuError, unsupported } from '../base/errors.ts';
import type { ErrorCode, ErrorData } from '../base/errors.ts';
import { encodeUtf8 } from '../base/text.ts';
import { ByteReader, ByteWriter } from './byte-codec.ts';
import type { Parts } from './byte-codec.ts';
import { parseJsonObject } from '../base/fields.ts';
import { DETAIL_BYTES_MAX } from './limits.ts';

/** The number that an ERROR carries for each code. */
export const WIRE_CODE: Record<ErrorCode, number> = {
  NOT_FOUND: 404,
  HEAD_MOVED: 409,
  EXISTS: 409,
  IDEMPOTENCY_CONFLICT: 409,
  INVALID: 422,
  TOO_LARGE: 413,
  CORRUPT: 500,
  DISK_FULL: 507,
  IO: 500,
  CLOSED: 503,
  READ_ONLY: 403,
  LOCKED: 409,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  UNAVAILABLE: 503,
  TIMEOUT: 504,
  UNSUPPORTED: 422,
};

/** Replaces the number for UNAVAILABLE when a single client asks too much or reads too slowly. */
export const TOO_MANY = 429;

/**
 * The reconnecting Go client of cxdb searches the text of an error for these phrases, in upper or lower case. If it
 * finds one, it assumes a lost connection: it dials again and repeats the request.
 */
const MISLEADING: readonly (readonly [phrase: string, instead: string])[] = [
  ['connection reset', 'peer gone'],
  ['connection refused', 'peer not listening'],
  ['broken pipe', 'reader gone'],
  ['use of closed network connection', 'use after close'],
  ['network is unreachable', 'network out of reach'],
  ['no route to host', 'no way to the host'],
  ['connection timed out', 'peer silent for too long'],
  ['i/o timeout', 'transfer took too long'],
];

/** Go also lower-cases the Kelvin sign, as the `u` of an expression does, and the Turkish dotted I. */
const PATTERNS = MISLEADING.map(
  ([phrase, instead]) => [new RegExp(phrase.replaceAll('i', '[iİ]'), 'giu'), instead] as const,
);

// u32 code, u32 detail_len, detail, and for clients that know Quipu u16 name_len, name, u32 data_len, data (JSON).

export interface ErrorMessage {
  readonly code: number;
  readonly detail: string;
  /** The code and the facts of a `QuipuError`, the facts as JSON text. */
  readonly quipu: { readonly name: string; readonly data: string } | undefined;
}

export function encodeError(message: ErrorMessage): Parts {
  const writer = new ByteWriter();
  writeError(writer, message);
  return writer.parts();
}

export function decodeError(payload: Uint8Array): ErrorMessage {
  return readError(new ByteReader(payload, 'ERROR'));
}

export function writeError(writer: ByteWriter, message: ErrorMessage): void {
  writer.u32(message.code).sized32(message.detail);
  if (message.quipu !== undefined) writer.sized16(message.quipu.name).sized32(message.quipu.data);
}

export function readError(reader: ByteReader): ErrorMessage {
  const code = reader.u32('code');
  const detail = reader.text(reader.u32('detail_len'), 'detail');
  if (reader.remaining === 0) return { code, detail, quipu: undefined };
  const name = reader.text(reader.u16('name_len'), 'name');
  const data = reader.text(reader.u32('data_len'), 'data');
  return { code, detail, quipu: { name, data } };
}

/** Clients of cxdb get only the name of the missing thing; other clients get the error itself. */
export function toErrorMessage(
  error: QuipuError,
  knowsQuipu: boolean,
  code: number = WIRE_CODE[error.code],
): ErrorMessage {
  if (knowsQuipu) {
    const quipu = { name: error.code, data: JSON.stringify(error.data) };
    return { code, detail: safeDetail(error.message), quipu };
  }
  const isMissing = error.code === 'NOT_FOUND' && 'what' in error.data;
  return {
    code,
    detail: safeDetail(isMissing ? error.data.what : error.message),
    quipu: undefined,
  };
}

/** The error that a server sent. Trusts the server to give each code the facts that belong to it. */
export function toQuipuError(message: ErrorMessage): QuipuError {
  const { code, detail, quipu } = message;
  if (quipu !== undefined && Object.hasOwn(WIRE_CODE, quipu.name)) {
    const data = parseJsonObject(quipu.data) ?? {};
    return new QuipuError(quipu.name as ErrorCode, detail, data as ErrorData[ErrorCode]);
  }
  switch (code) {
    case WIRE_CODE.UNAUTHORIZED:
      return new QuipuError('UNAUTHORIZED', detail, {});
    case WIRE_CODE.UNAVAILABLE:
      return new QuipuError('UNAVAILABLE', detail, { what: 'server' });
    default:
      return unsupported('error', String(code), detail);
  }
}

/** The text of an error as it may be sent: no phrase that misleads a client, at most 1,024 bytes. */
export function safeDetail(message: string): string {
  let detail = cutUtf8(message, DETAIL_BYTES_MAX);
  for (const [pattern, instead] of PATTERNS) detail = detail.replace(pattern, instead);
  return cutUtf8(detail, DETAIL_BYTES_MAX);
}

/** Cuts a text to at most `max` bytes of UTF-8, ending with a whole character. */
function cutUtf8(text: string, max: number): string {
  const bytes = Buffer.from(encodeUtf8(text.slice(0, max)));
  if (bytes.length <= max) return bytes.toString('utf8');
  let end = max;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
