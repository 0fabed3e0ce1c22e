import type { ContextId, KeyHash } from '../base/brand.ts';
import { hashText, hexOf } from '../base/hash.ts';

export const IDEMPOTENCY_BYTES = 16;

/**
 * The hash that a turn record keeps of its idempotency key: 16 bytes, equal for equal (context, key). `life` counts
 * how often the turn of that key was collected. docs/format/turns.md
 */
export function idempotencyHash(context: ContextId, key: string, life = 0): KeyHash {
  const again = life === 0 ? '' : `\0${life}`;
  const text = `quipu.key\0${context}\0${key}${again}`;
  return hashText(text).slice(0, IDEMPOTENCY_BYTES * 2) as KeyHash;
}

/** Trusts `bytes` to be the 16 bytes of such a hash. */
export function bytesToKeyHash(bytes: Uint8Array): KeyHash {
  return hexOf(bytes) as KeyHash;
}

export function keyHashToBytes(hash: KeyHash): Uint8Array {
  return Buffer.from(hash, 'hex');
}
