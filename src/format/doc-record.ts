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
  /** True when the content is a difference from an earlier record, see `doc-difference.ts`. */
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
