import { CRC_BYTES, isSealed, readText, readU64, seal, toBuffer, writeU64 } from './bytes.ts';

// docs.log: one version of one document after another.                  docs/format/docs-and-logs.md
// 0        4        6              8                 12         20           28      28+n       32+n+c
// | magic  | flags  | name length  | content length  | version  | created ms | name  | content  | crc32 |
// | QDRC   | u16    | u16 = n      | u32 = c         | u64      | u64        | UTF-8 | UTF-8    | u32   |
// little-endian; flags: 1 removed, 2 published, 6 published as a difference; crc32 covers all before
export const DOC_HEADER_BYTES = 28;

const MAGIC = 'QDRC';
const FLAG_REMOVED = 1;
const FLAG_PUBLISHED = 2;
/** Never alone: only a published document is written as a difference. */
const FLAG_DIFFERENCE = 4;
const FLAGS_KNOWN = [0, 1, 2, 3, 6];

export interface DocRecord {
  readonly name: string;
  readonly version: number;
  readonly createdAt: number;
  /** Undefined: this version removes the document. */
  readonly content: string | undefined;
  /** True when the document is also kept as a plain file of that name. */
  readonly published: boolean;
  /** True when the content is a difference from an earlier record, see `DocDifference`. */
  readonly difference?: true;
}

export function encodeDocRecord(record: DocRecord): Uint8Array {
  const content = record.content ?? '';
  const nameLength = Buffer.byteLength(record.name);
  const contentLength = Buffer.byteLength(content);
  const removed = record.content === undefined ? FLAG_REMOVED : 0;
  const published = record.published ? FLAG_PUBLISHED : 0;
  const difference = record.difference === true ? FLAG_DIFFERENCE : 0;

  const buffer = Buffer.allocUnsafe(DOC_HEADER_BYTES + nameLength + contentLength + CRC_BYTES);
  buffer.write(MAGIC, 0, 'latin1');
  buffer.writeUInt16LE(removed + published + difference, 4);
  buffer.writeUInt16LE(nameLength, 6);
  buffer.writeUInt32LE(contentLength, 8);
  writeU64(buffer, record.version, 12);
  writeU64(buffer, record.createdAt, 20);
  buffer.write(record.name, DOC_HEADER_BYTES, 'utf8');
  buffer.write(content, DOC_HEADER_BYTES + nameLength, 'utf8');
  seal(buffer);
  return buffer;
}

/**
 * The length of the record that begins with these 28 bytes. Undefined when they do not look like one.
 * The checksum stands at the end of the record, so the length is not proven yet.
 */
export function docRecordLength(header: Uint8Array): number | undefined {
  if (header.length < DOC_HEADER_BYTES) return undefined;
  const buffer = toBuffer(header);
  if (buffer.toString('latin1', 0, 4) !== MAGIC) return undefined;
  if (!FLAGS_KNOWN.includes(buffer.readUInt16LE(4))) return undefined;
  return DOC_HEADER_BYTES + buffer.readUInt16LE(6) + buffer.readUInt32LE(8) + CRC_BYTES;
}

/** Undefined when `bytes` are not one intact record. */
export function decodeDocRecord(bytes: Uint8Array): DocRecord | undefined {
  const buffer = toBuffer(bytes);
  if (docRecordLength(buffer) !== buffer.length || !isSealed(buffer)) return undefined;

  const flags = buffer.readUInt16LE(4);
  const removed = (flags & FLAG_REMOVED) !== 0;
  const contentStart = DOC_HEADER_BYTES + buffer.readUInt16LE(6);
  const contentLength = buffer.readUInt32LE(8);
  const version = readU64(buffer, 12);
  const createdAt = readU64(buffer, 20);
  const name = readText(buffer, DOC_HEADER_BYTES, contentStart);
  const content = readText(buffer, contentStart, contentStart + contentLength);
  if (name === undefined || content === undefined) return undefined;
  if (version === undefined || createdAt === undefined) return undefined;
  if (removed && contentLength !== 0) return undefined;

  const published = (flags & FLAG_PUBLISHED) !== 0;
  return {
    name,
    version,
    createdAt,
    content: removed ? undefined : content,
    published,
    ...((flags & FLAG_DIFFERENCE) !== 0 && { difference: true }),
  };
}

// A version of a document as the difference from an earlier one. The content of its record is the JSON text
// `[offset, length, kept, tail, middle]`. The record at `offset`, `length` bytes long, has the earlier content. The
// first `kept` and the last `tail` UTF-16 code units of it stay, with `middle` between them.

export interface DocDifference {
  readonly offset: number;
  readonly length: number;
  readonly kept: number;
  readonly tail: number;
  readonly middle: string;
}

/** Undefined when the difference would not take less than half of the content. */
export function encodeDocDifference(
  before: string,
  content: string,
  place: { readonly offset: number; readonly length: number },
): string | undefined {
  const most = Math.min(before.length, content.length);
  let kept = 0;
  while (kept < most && before.charCodeAt(kept) === content.charCodeAt(kept)) kept += 1;
  let tail = 0;
  while (tail < most - kept && before.at(-1 - tail) === content.at(-1 - tail)) tail += 1;
  const middle = content.slice(kept, content.length - tail);
  const text = JSON.stringify([place.offset, place.length, kept, tail, middle]);
  return text.length * 2 < content.length ? text : undefined;
}

/** Undefined for a text that is not a difference. */
export function decodeDocDifference(text: string): DocDifference | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // SyntaxError: the answer.
    return undefined;
  }
  if (!Array.isArray(value) || value.length !== 5) return undefined;
  const numbers = value.slice(0, 4) as unknown[];
  const middle: unknown = value[4];
  if (!numbers.every((n) => Number.isSafeInteger(n) && (n as number) >= 0)) return undefined;
  if (typeof middle !== 'string') return undefined;
  const [offset = 0, length = 0, kept = 0, tail = 0] = numbers as number[];
  return { offset, length, kept, tail, middle };
}

/** Undefined when the earlier content is too short for the difference. */
export function applyDocDifference(
  before: string,
  { kept, tail, middle }: DocDifference,
): string | undefined {
  if (kept + tail > before.length) return undefined;
  return before.slice(0, kept) + middle + before.slice(before.length - tail);
}
