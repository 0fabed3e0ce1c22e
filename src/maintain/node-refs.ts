import { OverBounds, parseBoundedJson } from '../base/bounded-json.ts';
import { toHash } from '../base/brand.ts';
import type { Hash } from '../base/brand.ts';
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
    if (error instanceof OverBounds) return hashesIn(text);
    // The bytes are not JSON, so they are no node.
    return [];
  }
  if (typeof value !== 'object' || value === null || !('refs' in value)) return [];
  if (!Array.isArray(value.refs)) return [];
  return [...(value.refs as unknown[]), compactOf(value)].flatMap((ref: unknown) =>
    typeof ref === 'string' && /^[0-9a-f]{64}$/.test(ref) ? [toHash(ref)] : [],
  );
}

function hashesIn(text: string): readonly Hash[] {
  return [...text.matchAll(/"([0-9a-f]{64})"/g)].map(([, hex = '']) => toHash(hex));
}

/** The one edge outside `refs`: the summary of a workflow's state. */
function compactOf(node: object): unknown {
  const { payload } = node as { payload?: { compact?: unknown } | null };
  return typeof payload === 'object' ? payload?.compact : undefined;
}
