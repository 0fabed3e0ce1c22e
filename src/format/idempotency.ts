import type { ContextId } from '../base/brand.ts';
import { hashRaw } from '../base/hash.ts';
import { encodeUtf8 } from '../base/utf8.ts';

export const IDEMPOTENCY_BYTES = 16;

/**
 * What a turn record keeps of its key: 16 bytes, equal for equal (context, key). `life` counts how often
 * the turn of that key was collected. docs/format/turns.md
 */
export function idempotencyHash(context: ContextId, key: string, life = 0): Uint8Array {
  const again = life === 0 ? '' : `\0${life}`;
  const text = `quipu.key\0${context}\0${key}${again}`;
  return hashRaw(encodeUtf8(text)).subarray(0, IDEMPOTENCY_BYTES);
}
