import { hashRaw } from '../base/hash.ts';
import { encodeUtf8 } from '../base/text.ts';
import { toBuffer } from './bytes.ts';
import { decodeChecked, encodeChecked } from './canonical-line.ts';

// FORMAT: one line of canonical JSON.                                   docs/format/store.md
// {"check":"<8 hex>","createdAt":"<ISO>","format":1,"store":"<ULID>"}
// check is the crc32 of the canonical JSON of the same object without "check".

/** The format that this code reads and writes. */
export const STORE_FORMAT = 1;

export interface FormatFile {
  /** Later formats keep all these fields, so that an older program can say what it met. */
  readonly format: number;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  /** The store's name for life, a ULID. */
  readonly store: string;
}

export function encodeFormatFile({ format, createdAt, store }: FormatFile): Uint8Array {
  return encodeChecked({ format, createdAt, store });
}

/**
 * Undefined when the file is damaged. One of a newer format is intact and says so in `format`:
 * compare it with `STORE_FORMAT`.
 */
export function decodeFormatFile(bytes: Uint8Array): FormatFile | undefined {
  const fields = decodeChecked(bytes);
  if (!isFormat(fields)) return undefined;
  const { format, createdAt, store } = fields;
  return { format, createdAt, store };
}

/** Whether the fields are those of FORMAT. */
export function isFormat(fields: unknown): fields is FormatFile {
  const { format, createdAt, store } = { ...(fields as Partial<FormatFile> | null) };
  if (typeof format !== 'number' || !Number.isSafeInteger(format) || format < 1) return false;
  return typeof createdAt === 'string' && typeof store === 'string';
}

/** The salt that this store's journal header checksums begin with: the first four bytes of a hash of its id. */
export function frameSaltOf(store: string): number {
  return toBuffer(hashRaw(encodeUtf8(`quipu.frame\0${store}`))).readUInt32LE(0);
}
