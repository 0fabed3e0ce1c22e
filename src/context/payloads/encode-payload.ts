import type { Hash } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { type Codec, type PayloadEncoding, findCodec } from './codecs.ts';

export interface PayloadRules {
  readonly maxPayloadBytes: number;
}

/** Bytes that nobody else can change any more, and their name. */
export interface EncodedPayload {
  readonly encoding: number;
  readonly bytes: Uint8Array;
  readonly hash: Hash;
}

/** Returns the bytes to store for a caller's payload. Throws INVALID when it does not fit the encoding. */
export function encodePayload(
  payload: unknown,
  encoding: PayloadEncoding | undefined,
  rules: PayloadRules,
): EncodedPayload {
  const codec = findCodec(encoding ?? (payload instanceof Uint8Array ? 'bytes' : 'json'));
  const bytes = toBytes(payload, codec);
  assertPayloadFits(bytes.length, rules.maxPayloadBytes);
  return { encoding: codec.number, bytes, hash: hashBytes(bytes) };
}

export function assertPayloadFits(size: number, limit: number): void {
  if (size <= limit) return;
  throw new QuipuError('TOO_LARGE', `the payload has ${size} bytes, and ${limit} are allowed`, {
    what: 'payload',
    limit,
    size,
  });
}

function toBytes(payload: unknown, codec: Codec): Uint8Array {
  try {
    if (!(payload instanceof Uint8Array)) return codec.encode(payload);
    // The caller keeps its array and may write to it before the commit reaches the disk.
    return new Uint8Array(codec.canonicalise?.(payload) ?? payload);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new QuipuError(
      'INVALID',
      `payload does not go into the encoding '${codec.name}': ${why}`,
      { what: 'payload' },
      { cause: error },
    );
  }
}
