import fc from 'fast-check';
import { toHash } from '../../src/base/brand.ts';
import type { ContextId, Hash, TurnId } from '../../src/base/brand.ts';

// Values that fields of records can hold, edges included.

export const u32: fc.Arbitrary<number> = fc.nat({ max: 0xffff_ffff });
export const safeNumber: fc.Arbitrary<number> = fc.maxSafeNat();
export const turnId: fc.Arbitrary<TurnId> = safeNumber.map((id) => BigInt(id) as TurnId);
export const contextId: fc.Arbitrary<ContextId> = safeNumber.map((id) => BigInt(id) as ContextId);
export const hash: fc.Arbitrary<Hash> = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => toHash(Buffer.from(bytes).toString('hex')));
/** Any code point but a surrogate. The units that fast-check brings take seconds to set up. */
export const codePoint: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((point) => String.fromCodePoint(point < 0xd800 ? point : point + 0x800));
export const text: fc.Arbitrary<string> = fc.string({ unit: codePoint, maxLength: 40 });
/** Buffers, as decoders return them: the tests compare the kind of an array too. */
export const data: fc.Arbitrary<Uint8Array> = bytes(0, 200);

export function bytes(minLength: number, maxLength: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength, maxLength }).map((array) => Buffer.from(array));
}
