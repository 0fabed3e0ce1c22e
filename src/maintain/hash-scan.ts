import type { Hash } from '../base/brand.ts';

// Finds the hashes that the bytes of a tree may name, whoever wrote the tree: a MessagePack binary of 32 bytes, or 64
// hex digits in a row, as in JSON. The scan parses nothing, so no nesting is too deep and no length is believed. Bytes
// that only look like a hash cost a lookup.

const HASH_BYTES = 32;
const HEX_DIGITS = 64;
/** The bytes that a hash with its longest header can reach back into the piece before. */
const CARRY_BYTES = HEX_DIGITS + 4;

const BIN8 = 0xc4;
const BIN16 = 0xc5;
const BIN32 = 0xc6;

const IS_HEX: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9a-f]/i.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** True for bytes that no text begins with, and for those that JSON can begin with. */
export function mayNameHashes(firstByte: number): boolean {
  return firstByte >= 0x80 || '{["\t\n\r '.includes(String.fromCharCode(firstByte));
}

/** Takes the pieces of a blob one after the other. May report a hash twice. */
export class HashScan {
  #carry: Buffer = Buffer.alloc(0);

  take(piece: Uint8Array): Hash[] {
    const bytes = Buffer.concat([this.#carry, piece]);
    this.#carry = bytes.subarray(-CARRY_BYTES);
    const found: Hash[] = [];
    let digits = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      digits = IS_HEX[byte] === 1 ? digits + 1 : 0;
      if (digits === HEX_DIGITS) {
        found.push(bytes.toString('latin1', at + 1 - HEX_DIGITS, at + 1).toLowerCase() as Hash);
        digits = 0;
      }
      if (byte !== HASH_BYTES || at + HASH_BYTES >= bytes.length || !endsHeader(bytes, at))
        continue;
      found.push(bytes.toString('hex', at + 1, at + 1 + HASH_BYTES) as Hash);
    }
    return found;
  }
}

/** True when the length that ends at `at` belongs to a binary: big-endian, in one, two or four bytes. */
function endsHeader(bytes: Uint8Array, at: number): boolean {
  if (bytes[at - 1] === BIN8) return true;
  if (bytes[at - 1] !== 0) return false;
  if (bytes[at - 2] === BIN16) return true;
  return bytes[at - 2] === 0 && bytes[at - 3] === 0 && bytes[at - 4] === BIN32;
}
