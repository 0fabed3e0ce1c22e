import type { Hash } from '../base/brand.ts';
import { QuipuError, invalid, tooLarge } from '../base/errors.ts';
import { HASH_BYTES } from '../base/hash.ts';
import { decodeUtf8, encodeUtf8 } from '../base/text.ts';
import { isZero, readU64, toBuffer, writeU64 } from '../format/bytes.ts';

// Reads a message from front to back. Whatever the bytes say, the reader stays within them. It believes no length
// before it knows that this many bytes are there. Each read names its field, so that the sender learns what is wrong.

export class ByteReader {
  readonly #bytes: Buffer;
  readonly #message: string;
  #at = 0;

  constructor(bytes: Uint8Array, message: string) {
    this.#bytes = toBuffer(bytes);
    this.#message = message;
  }

  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  u8(field: string): number {
    return this.#bytes.readUInt8(this.#take(1, field));
  }

  u16(field: string): number {
    return this.#bytes.readUInt16LE(this.#take(2, field));
  }

  u32(field: string): number {
    return this.#bytes.readUInt32LE(this.#take(4, field));
  }

  u64(field: string): bigint {
    return this.#bytes.readBigUInt64LE(this.#take(8, field));
  }

  /** A u64 that counts bytes or milliseconds: values past 2^53 - 1 are impossible. */
  count64(field: string): number {
    const value = readU64(this.#bytes, this.#take(8, field));
    if (value === undefined) throw this.wrong(field, 'is above 2^53 - 1');
    return value;
  }

  hash(field: string): Hash {
    const start = this.#take(HASH_BYTES, field);
    return this.#bytes.toString('hex', start, start + HASH_BYTES) as Hash;
  }

  /** Undefined for 32 zero bytes, where they stand for "no hash". */
  hashOrNone(field: string): Hash | undefined {
    const hash = this.hash(field);
    return isZero(this.#bytes, this.#at - HASH_BYTES, this.#at) ? undefined : hash;
  }

  /** Shares the memory; makes no copy. */
  bytes(length: number, field: string): Buffer {
    const start = this.#take(length, field);
    return this.#bytes.subarray(start, start + length);
  }

  text(length: number, field: string): string {
    const bytes = this.bytes(length, field);
    try {
      return decodeUtf8(bytes);
    } catch (error) {
      throw this.wrong(field, 'is not valid UTF-8', { cause: error });
    }
  }

  /** A length of at most `max`. INVALID for a greater length, and for one that exceeds the remaining bytes. */
  length32(field: string, max: number): number {
    const length = this.u32(`${field}_len`);
    this.#need(length, field);
    if (length > max) throw this.wrong(field, `has ${length} bytes, and ${max} is the limit`);
    return length;
  }

  /** A length for which more than `max` is not INVALID but TOO_LARGE. */
  size32(field: string, max: number): number {
    const size = this.u32(`${field}_len`);
    this.#need(size, field);
    this.checkSize(field, size, max);
    return size;
  }

  checkSize(field: string, size: number, limit: number): void {
    if (size <= limit) return;
    const what = `${this.#message}.${field}`;
    throw tooLarge(what, limit, size);
  }

  /** The number of items that follow, each of at least `itemBytes`. INVALID for more items than the bytes can hold. */
  items32(field: string, itemBytes: number): number {
    const count = this.u32(`${field}_count`);
    this.#need(count * itemBytes, field);
    return count;
  }

  wrong(field: string, problem: string, options?: ErrorOptions): QuipuError<'INVALID'> {
    const what = `${this.#message}.${field}`;
    return new QuipuError('INVALID', `${what} ${problem}`, { what }, options);
  }

  #need(length: number, field: string): void {
    if (length <= this.remaining) return;
    const what = `${this.#message}.${field}`;
    throw invalid(what, `needs ${length} bytes, and ${this.remaining} are left`);
  }

  #take(length: number, field: string): number {
    this.#need(length, field);
    const start = this.#at;
    this.#at += length;
    return start;
  }
}

// Writes a message from front to back. Small fields go into blocks. A large byte array is kept as it is, so that
// `encodeFrame` copies it once and nobody copies it twice.

/** The bytes of a message, in order. */
export type Parts = readonly Uint8Array[];

export function lengthOf(parts: Parts): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

const BLOCK_BYTES = 1024;
/** From this size on a copy costs more than an additional part. */
const LARGE_BYTES = 4096;
/** Up to this length a loop over the characters takes less time than one call of Node's encoder, which is 0.7 µs. */
const SHORT_CHARS = 64;

export class ByteWriter {
  readonly #parts: Uint8Array[] = [];
  #block: Buffer;
  #start = 0;
  #at = 0;

  /** `sizeHint`: the number of bytes that will be written, if that is known. */
  constructor(sizeHint: number = BLOCK_BYTES) {
    this.#block = Buffer.allocUnsafe(sizeHint);
  }

  u8(value: number): this {
    const at = this.#room(1);
    this.#block.writeUInt8(value, at);
    return this;
  }

  u16(value: number): this {
    const at = this.#room(2);
    this.#block.writeUInt16LE(value, at);
    return this;
  }

  u32(value: number): this {
    const at = this.#room(4);
    this.#block.writeUInt32LE(value, at);
    return this;
  }

  u64(value: bigint): this {
    const at = this.#room(8);
    this.#block.writeBigUInt64LE(value, at);
    return this;
  }

  count64(value: number): this {
    const at = this.#room(8);
    writeU64(this.#block, value, at);
    return this;
  }

  /** Undefined is written as 32 zero bytes. */
  hash(hash: Hash | undefined): this {
    const at = this.#room(HASH_BYTES);
    if (hash === undefined) this.#block.fill(0, at, at + HASH_BYTES);
    else this.#block.write(hash, at, HASH_BYTES, 'hex');
    return this;
  }

  /** Trusts the caller to leave a large array unchanged until the frame is encoded. */
  bytes(bytes: Uint8Array): this {
    if (bytes.length >= LARGE_BYTES) {
      this.#cut();
      this.#parts.push(bytes);
      return this;
    }
    const at = this.#room(bytes.length);
    this.#block.set(bytes, at);
    return this;
  }

  /** A u32 length, then the bytes. */
  sized32(content: Uint8Array | string): this {
    if (typeof content !== 'string') return this.u32(content.length).bytes(content);
    if (content.length > SHORT_CHARS || !this.#writeAscii(content)) {
      const bytes = encodeUtf8(content);
      return this.u32(bytes.length).bytes(bytes);
    }
    return this;
  }

  /** A u16 length, then the text. */
  sized16(text: string): this {
    const bytes = encodeUtf8(text);
    return this.u16(bytes.length).bytes(bytes);
  }

  /** Ends the writer; call it once. */
  parts(): Parts {
    this.#cut();
    return this.#parts;
  }

  /** Writes the length and the text. Returns false, with nothing written, for a text that has other characters. */
  #writeAscii(text: string): boolean {
    const at = this.#room(4 + text.length);
    const block = this.#block;
    for (let i = 0; i < text.length; i += 1) {
      const char = text.charCodeAt(i);
      if (char > 0x7f) {
        this.#at = at;
        return false;
      }
      block[at + 4 + i] = char;
    }
    block.writeUInt32LE(text.length, at);
    return true;
  }

  #room(length: number): number {
    if (this.#at + length > this.#block.length) {
      this.#cut();
      this.#block = Buffer.allocUnsafe(Math.max(BLOCK_BYTES, length));
      this.#start = 0;
      this.#at = 0;
    }
    const at = this.#at;
    this.#at += length;
    return at;
  }

  #cut(): void {
    if (this.#at > this.#start) this.#parts.push(this.#block.subarray(this.#start, this.#at));
    this.#start = this.#at;
  }
}
