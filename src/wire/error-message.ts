import { QuipuError } from '../base/errors.ts';
import type { ErrorCode, ErrorData } from '../base/errors.ts';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';
import type { Parts } from './byte-writer.ts';
import { WIRE_CODE, safeDetail } from './error-codes.ts';
import { parseJsonObject } from './json-object.ts';

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
      return new QuipuError('UNSUPPORTED', detail, { what: 'error', found: String(code) });
  }
}
