import { parseBoundedJson } from '../../base/bounded-json.ts';
import { toHash, type Hash } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { invalid, tooLarge, notFound } from '../../base/errors.ts';
import { assertWellFormed, kindOf } from '../../base/text.ts';
import type { Engine } from '../../engine/engine.ts';
import { CONTENT_REFS_MAX, META_BYTES_MAX } from './limits.ts';

export function checkText(text: unknown, what: string, maxBytes: number): string {
  if (typeof text !== 'string') throw invalid(what, `must be a string, got ${kindOf(text)}`);
  const size = Buffer.byteLength(text);
  if (size > maxBytes) {
    throw tooLarge(what, maxBytes, size, `${what} takes ${size} bytes, the most is ${maxBytes}`);
  }
  assertWellFormed(text, what);
  return text;
}

export function checkMeta(meta: unknown): JsonObject {
  if (meta === undefined) return {};
  if (kindOf(meta) !== 'object') throw invalid('meta', `must be an object, got ${kindOf(meta)}`);
  // This is the value as it will be read back, after toJSON and without undefined fields.
  const text = canonicalJson(meta);
  checkText(text, 'meta', META_BYTES_MAX);
  return parseBoundedJson(text) as JsonObject;
}

/** Checks that every artifact is stored: an edge of the graph never dangles. */
export async function checkRefs(engine: Engine, refs: unknown): Promise<readonly Hash[]> {
  if (refs === undefined) return [];
  if (!Array.isArray(refs))
    throw invalid('refs', `must be an array of hashes, got ${kindOf(refs)}`);
  if (refs.length > CONTENT_REFS_MAX) {
    throw invalid('refs', `may have at most ${CONTENT_REFS_MAX} hashes, got ${refs.length}`);
  }
  const hashes = refs.map((ref: string) => toHash(ref, 'a hash in refs'));
  const there = await Promise.all(hashes.map((hash) => engine.hasBlob(hash)));
  const missing = hashes[there.indexOf(false)];
  if (missing === undefined) return hashes;
  throw notFound('blob', missing, `there is no blob ${missing}, which refs names`);
}

export interface JsonObject {
  readonly [name: string]: unknown;
}
