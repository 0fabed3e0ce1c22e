import { isUtf8 } from 'node:buffer';
import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId, Hash } from '../../base/brand.ts';
import { isQuipuError, notFound, invalid } from '../../base/errors.ts';
import { hexOf, createHasher, hashBytes } from '../../base/hash.ts';
import { decodeUtf8 } from '../../base/text.ts';
import type { AppendTurn, TurnInput } from '../../wire/append-turn.ts';
import { NAME_BYTES_MAX } from '../../wire/limits.ts';
import { setImmediate } from 'node:timers/promises';
import { decompress } from '../../base/compress.ts';
import type { EncodedPayload } from '../../context/payloads/codecs.ts';
import { LARGE_BLOB_BYTES } from '../../format/chunker.ts';
import { Compression } from '../../wire/append-turn.ts';

// Clients may send any 64 bits as an id. An id that no store hands out counts as missing, like an id that this store
// lacks.

const ID_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** `what` is the name that the message uses for the turn. */
export function turnOf(id: bigint, what = 'turn'): TurnId {
  if (id > 0n && id <= ID_MAX) return id as TurnId;
  throw notFound(what, id);
}

export function contextOf(id: bigint): ContextId {
  if (id > 0n && id <= ID_MAX) return id as ContextId;
  throw notFound('context', id);
}

/** For a turn that a request names in a certain role: the error tells the client this role. */
export function asMissing(error: unknown, what: string): unknown {
  const isTurn = isQuipuError(error, 'NOT_FOUND') && error.data.what === 'turn';
  return isTurn ? notFound(what, error.data.id) : error;
}

/** Longer than any key that is text, so no text key can equal the form of a key of other bytes. */
const BYTES_MARK = 'bytes:'.padEnd(NAME_BYTES_MAX + 1, '.');

/** Turns the bytes of a key on the wire into the text of a key in a store. Different bytes give different texts. */
export function keyText(key: Uint8Array): string {
  return isUtf8(key) ? decodeUtf8(key) : BYTES_MARK + hexOf(key);
}

/** The place of a new turn. Undefined: on the head, whichever turn that is. */
interface Place {
  readonly parent: TurnId | undefined;
  readonly expectedHead: TurnId | undefined;
}

const ON_HEAD: Place = { parent: undefined, expectedHead: undefined };

/** Parent 0 is the head. With EXPECT_HEAD the parent must be the head, and 0 means that the context is empty. */
export function placeOf({ parent, expectHead }: Pick<AppendTurn, 'parent' | 'expectHead'>): Place {
  if (parent === NO_TURN && !expectHead) return ON_HEAD;
  const turn = parent === NO_TURN ? NO_TURN : turnOf(parent, 'parent turn');
  return {
    parent: turn === NO_TURN ? undefined : turn,
    expectedHead: expectHead ? turn : undefined,
  };
}

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
