import { CRC_BYTES, isSealed, isZero, seal, toBuffer } from './bytes.ts';

// Every binary file of a store except the journal begins with this header.   docs/format/store.md
// 0        4          6              8       12       16        size-4  size
// | magic  | version  | record size  | kind  | number | zeros … | crc32 |   little-endian
// | ASCII  | u16 = 1  | u16          | u32   | u32    |         | u32   |   crc32 covers all before
const VERSION = 1;
const FIELDS_BYTES = 16;

/** The first four bytes of each kind of file. */
export const FILE_MAGIC = {
  turns: 'QTRN',
  heads: 'QHED',
  patches: 'QPAT',
  docs: 'QDOC',
  pack: 'QPAK',
  aliases: 'QALI',
} as const;

export type FileMagic = (typeof FILE_MAGIC)[keyof typeof FILE_MAGIC];

/** The offset of the first record, for the files without a fixed record size. */
export const OPEN_FILE_HEADER_BYTES = 32;

/** The `kind` in the header of a pack. */
export const PackKind = {
  /** Its records came through the journal. */
  journaled: 0,
  /** Its records were written and synced before the journal named them. */
  bulk: 1,
} as const;

export interface FileHeader {
  readonly magic: FileMagic;
  /** 0 where records differ in size: docs.log and packs. */
  readonly recordBytes: number;
  /** A `PackKind`; 0 in every other file. */
  readonly kind: number;
  /** The number of a pack; 0 in every other file. */
  readonly number: number;
}

const MAGICS: ReadonlySet<string> = new Set(Object.values(FILE_MAGIC));

/** `sizeBytes` is the record size, or `OPEN_FILE_HEADER_BYTES` where there is none. */
export function encodeFileHeader(header: FileHeader, sizeBytes: number): Uint8Array {
  const buffer = Buffer.alloc(sizeBytes);
  buffer.write(header.magic, 0, 'latin1');
  buffer.writeUInt16LE(VERSION, 4);
  buffer.writeUInt16LE(header.recordBytes, 6);
  buffer.writeUInt32LE(header.kind, 8);
  buffer.writeUInt32LE(header.number, 12);
  seal(buffer);
  return buffer;
}

/** `bytes` are the whole header. Undefined when it is damaged, or of an unknown kind or version. */
export function decodeFileHeader(bytes: Uint8Array): FileHeader | undefined {
  const buffer = toBuffer(bytes);
  if (buffer.length < FIELDS_BYTES + CRC_BYTES || !isSealed(buffer)) return undefined;
  if (!isZero(buffer, FIELDS_BYTES, buffer.length - CRC_BYTES)) return undefined;

  const magic = buffer.toString('latin1', 0, 4);
  const recordBytes = buffer.readUInt16LE(6);
  const sizeBytes = recordBytes === 0 ? OPEN_FILE_HEADER_BYTES : recordBytes;
  if (!isFileMagic(magic) || buffer.readUInt16LE(4) !== VERSION) return undefined;
  if (buffer.length !== sizeBytes) return undefined;
  return { magic, recordBytes, kind: buffer.readUInt32LE(8), number: buffer.readUInt32LE(12) };
}

function isFileMagic(text: string): text is FileMagic {
  return MAGICS.has(text);
}
