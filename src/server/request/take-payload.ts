import { setImmediate } from 'node:timers/promises';
import type { Hash } from '../../base/brand.ts';
import { decompress } from '../../base/compress.ts';
import { invalid } from '../../base/errors.ts';
import { createHasher, hashBytes } from '../../base/hash.ts';
import type { EncodedPayload } from '../../context/payloads/codecs.ts';
import { LARGE_BLOB_BYTES } from '../../format/chunker.ts';
import { Compression } from '../../wire/append-turn.ts';
import type { TurnInput } from '../../wire/append-turn.ts';

/** Bytes hashed at a time; other connections are served in between. */
const SLICE_BYTES = 1024 * 1024;

/**
 * True for a payload so large that an engine writes it before its commit takes its place. Later commits could pass it.
 */
export function isLarge(length: number): boolean {
  return length >= LARGE_BLOB_BYTES;
}

/** The payload of a turn as the store keeps it. Throws unless its length and hash are right. */
export function takePayload(turn: TurnInput, where: string): EncodedPayload {
  const bytes = unpack(turn, where);
  const hash = hashBytes(bytes);
  compare(hash, turn.hash, where);
  return { encoding: turn.encoding, bytes, hash };
}

/** Like `takePayload`, for a payload that takes long to hash. */
export async function takeLargePayload(turn: TurnInput, where: string): Promise<EncodedPayload> {
  const { encoding, hash } = turn;
  const bytes = unpack(turn, where);
  await checkHash(bytes, hash, where);
  return { encoding, bytes, hash };
}

/** Checks the hash of bytes that take long to hash. */
export async function checkHash(bytes: Uint8Array, hash: Hash, where: string): Promise<void> {
  const hasher = createHasher();
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    hasher.update(bytes.subarray(at, at + SLICE_BYTES));
    await setImmediate();
  }
  compare(hasher.digest(), hash, where);
}

export function assertHash(bytes: Uint8Array, hash: Hash, where: string): void {
  compare(hashBytes(bytes), hash, where);
}

function compare(found: Hash, claimed: Hash, where: string): void {
  if (found === claimed) return;
  throw invalid(`${where}.content_hash`, `is ${claimed}, and that of the bytes is ${found}`);
}

function unpack({ compression, payload, rawLength }: TurnInput, where: string): Uint8Array {
  if (compression === Compression.none) {
    if (payload.length === rawLength) return payload;
    const found = `is ${rawLength}, and the payload has ${payload.length} bytes`;
    throw invalid(`${where}.uncompressed_len`, found);
  }
  try {
    return decompress(payload, rawLength);
  } catch {
    // The payload is damaged or has another length. Telling the sender which would not help.
    throw invalid(`${where}.payload`, `is not zstd of ${rawLength} bytes`);
  }
}
