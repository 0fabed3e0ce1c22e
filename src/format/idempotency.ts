import type { ContextId } from '../base/brand.ts';
import { hashRaw } from '../base/hash.ts';
import { encodeUtf8 } from '../base/utf8.ts';

export const IDEMPOTENCY_BYTES = 16;

/** What a turn record keeps of its key: 16 bytes, equal for equal (context, key). docs/format/turns.md */
export function idempotencyHash(context: ContextId, key: string): Uint8Array {
  return hashRaw(encodeUtf8(`quipu.key\0${context}\0${key}`)).subarray(0, IDEMPOTENCY_BYTES);
}
