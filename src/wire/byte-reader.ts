import type { Hash } from '../base/brand.ts';
import { QuipuError, invalid, tooLarge } from '../base/errors.ts';
import { HASH_BYTES } from '../base/hash.ts';
import { decodeUtf8 } from '../base/text.ts';
import { isZero, readU64, toBuffer } from '../format/bytes.ts';

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
