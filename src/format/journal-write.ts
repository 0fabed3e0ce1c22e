import { readU64, writeU64 } from './bytes.ts';
import { readText } from './text.ts';

// One change of one file, back to back in the body of a frame.          docs/format/journal.md
// 0       1       2              4              8         16      16+p      16+p+d
// | kind  | zero  | path length  | data length  | offset  | path  | data … |   little-endian
// | u8    | u8    | u16 = p      | u32 = d      | u64     | UTF-8 | d      |   covered by the body's crc32
const HEADER_BYTES = 16;
const U64_BYTES = 8;

const KIND_BYTES = 1;
const KIND_WHOLE = 2;
const KIND_REMOVE = 3;
const KIND_EXTENT = 4;

/** `path` is relative to the store, with `/` between its parts. Doing one twice changes nothing. */
export type JournalWrite =
  /** These bytes at that offset. */
  | {
      readonly kind: 'bytes';
      readonly path: string;
      readonly offset: number;
      readonly data: Uint8Array;
    }
  /** The file is exactly these bytes. */
  | { readonly kind: 'whole'; readonly path: string; readonly data: Uint8Array }
  | { readonly kind: 'remove'; readonly path: string }
  /** These bytes were written and synced before the frame; nothing is left to do. */
  | {
      readonly kind: 'extent';
      readonly path: string;
      readonly offset: number;
      readonly length: number;
    };

export function encodedWriteLength(write: JournalWrite): number {
  return HEADER_BYTES + Buffer.byteLength(write.path) + dataLength(write);
}

/** Writes it at `at` of a buffer with room for it, and returns where it ends. */
export function encodeJournalWrite(write: JournalWrite, into: Buffer, at: number): number {
  const pathLength = into.write(write.path, at + HEADER_BYTES, 'utf8');
  const data = at + HEADER_BYTES + pathLength;
  into.writeUInt16LE(pathLength, at + 2);
  into.writeUInt32LE(dataLength(write), at + 4);
  writeU64(into, 'offset' in write ? write.offset : 0, at + 8);
  // The byte after the kind is zero, so both are written as one number.
  switch (write.kind) {
    case 'bytes':
      into.writeUInt16LE(KIND_BYTES, at);
      into.set(write.data, data);
      break;
    case 'whole':
      into.writeUInt16LE(KIND_WHOLE, at);
      into.set(write.data, data);
      break;
    case 'remove':
      into.writeUInt16LE(KIND_REMOVE, at);
      break;
    case 'extent':
      into.writeUInt16LE(KIND_EXTENT, at);
      writeU64(into, write.length, data);
      break;
  }
  return data + dataLength(write);
}

/** The write that begins at `at`. Undefined when it is not one, or its path is not in the store. */
export function decodeJournalWrite(
  buffer: Buffer,
  at: number,
): { write: JournalWrite; end: number } | undefined {
  if (buffer.length < at + HEADER_BYTES) return undefined;
  const pathEnd = at + HEADER_BYTES + buffer.readUInt16LE(at + 2);
  const end = pathEnd + buffer.readUInt32LE(at + 4);
  if (buffer.length < end) return undefined;
  const path = readText(buffer, at + HEADER_BYTES, pathEnd);
  const offset = readU64(buffer, at + 8);
  if (path === undefined || offset === undefined || !staysInStore(path)) return undefined;

  const data = buffer.subarray(pathEnd, end);
  const write = toWrite(buffer.readUInt16LE(at), { path, offset, data });
  return write === undefined ? undefined : { write, end };
}

function toWrite(
  kind: number,
  { path, offset, data }: { path: string; offset: number; data: Buffer },
): JournalWrite | undefined {
  if (kind === KIND_BYTES) return { kind: 'bytes', path, offset, data };
  if (kind === KIND_EXTENT && data.length === U64_BYTES) {
    const length = readU64(data, 0);
    return length === undefined ? undefined : { kind: 'extent', path, offset, length };
  }
  if (offset !== 0) return undefined;
  if (kind === KIND_WHOLE) return { kind: 'whole', path, data };
  if (kind === KIND_REMOVE && data.length === 0) return { kind: 'remove', path };
  return undefined;
}

function dataLength(write: JournalWrite): number {
  switch (write.kind) {
    case 'bytes':
    case 'whole':
      return write.data.length;
    case 'remove':
      return 0;
    case 'extent':
      return U64_BYTES;
  }
}

/** A store can come from a stranger: replaying its journal must not write anywhere else. */
function staysInStore(path: string): boolean {
  if (path.includes('\\') || path.includes('\0')) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}
