import { setImmediate } from 'node:timers/promises';
import type { Hash } from '../../../base/brand.ts';
import { decompress } from '../../../base/compress.ts';
import { invalid } from '../../../base/errors.ts';
import { createHasher, hashBytes } from '../../../base/hash.ts';
import { EncodedPayload } from '../../../context/encode-payload.ts';
import { LARGE_BLOB_BYTES } from '../../../format/chunker.ts';
import { Compression } from '../../../wire/turn-input.ts';
import type { TurnInput } from '../../../wire/turn-input.ts';

/** Hashed at a time; other connections are served in between. */
const SLICE_BYTES = 1024 * 1024;

/** From here on an engine writes the bytes before their commit takes its place, so later ones could pass. */
export function isLarge(length: number): boolean {
  return length >= LARGE_BLOB_BYTES;
}

/** The payload of a turn as it is to be stored, once its length and hash are known to be right. */
export function takePayload(turn: TurnInput, where: string): EncodedPayload {
  const payload = new EncodedPayload(turn.encoding, unpack(turn, where));
  compare(payload.hash, turn.hash, where);
  return payload;
}

/** The same for a payload that takes long to hash. */
export async function takeLargePayload(turn: TurnInput, where: string): Promise<EncodedPayload> {
  const { encoding, hash } = turn;
  const bytes = unpack(turn, where);
  await checkHash(bytes, hash, where);
  return { encoding, bytes, hash };
}

/** For bytes that take long to hash. */
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
    // Damaged, or of another length: which of the two is no help to the sender.
    throw invalid(`${where}.payload`, `is not zstd of ${rawLength} bytes`);
  }
}
