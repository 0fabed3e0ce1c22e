import { OverBounds, parseBoundedJson } from '../base/bounded-json.ts';
import { toHash, type Hash } from '../base/brand.ts';
import { QuipuError, isQuipuError } from '../base/errors.ts';
import type { Engine } from '../engine/engine.ts';

/** Nodes are small; anything larger is content, whatever it looks like. */
const NODE_BYTES_MAX = 16 * 1024 * 1024;

/** The hashes that a blob refers to if it is a node, JSON of `{type, payload, refs}`; nothing otherwise. */
export async function* readRefs(engine: Engine, hash: Hash): AsyncGenerator<Hash> {
  const stat = await engine.statBlob(hash);
  if (stat === undefined || stat.size > NODE_BYTES_MAX) return;
  const bytes = await engine.getBlob(hash);
  if (bytes !== undefined) yield* parseRefs(bytes);
}

/** Generous: following bytes that only look like a node keeps too much, which does no harm. */
export function parseRefs(bytes: Uint8Array): readonly Hash[] {
  // The first byte tells every other blob apart.
  if (bytes[0] !== '{'.charCodeAt(0)) return [];
  let value: unknown;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  try {
    value = parseBoundedJson(text);
  } catch (error) {
    // The JSON is over the bounds and too large to parse, so every hash in it counts.
    if (error instanceof OverBounds) {
      return [...text.matchAll(/"([0-9a-f]{64})"/g)].map(([, hex = '']) => toHash(hex));
    }
    // The bytes are not JSON, so they are no node.
    return [];
  }
  if (typeof value !== 'object' || value === null || !('refs' in value)) return [];
  if (!Array.isArray(value.refs)) return [];
  return [...(value.refs as unknown[]), compactOf(value)].flatMap((ref: unknown) =>
    typeof ref === 'string' && /^[0-9a-f]{64}$/.test(ref) ? [toHash(ref)] : [],
  );
}

/** The one edge outside `refs`: the summary of a workflow's state. */
function compactOf(node: object): unknown {
  const { payload } = node as { payload?: { compact?: unknown } | null };
  return typeof payload === 'object' ? payload?.compact : undefined;
}

/** After this many lookups the scan yields the JavaScript thread to other work. */
const LOOKUPS_AT_ONCE = 500;

/**
 * The stored blobs whose hashes stand in a blob's bytes: the blobs that a tree names, and nothing for most files.
 * Memory stays bounded whatever the size. A blob that is gone names nothing; a damaged one is CORRUPT.
 */
export async function* readTreeNames(engine: Engine, hash: Hash): AsyncGenerator<Hash> {
  const scan = new HashScan();
  let isFirst = true;
  let lookups = 0;
  try {
    for await (const piece of engine.readBlob(hash)) {
      if (isFirst && !mayNameHashes(piece[0] ?? 0)) return;
      isFirst = false;
      for (const found of scan.take(piece)) {
        if (await engine.hasBlob(found)) yield found;
        lookups += 1;
        if (lookups % LOOKUPS_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    }
  } catch (error) {
    if (isQuipuError(error, 'NOT_FOUND')) return;
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    const message = `nothing more is collected, because a blob of a file system cannot be read: ${error.message}`;
    throw new QuipuError('CORRUPT', message, error.data, { cause: error });
  }
}

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
