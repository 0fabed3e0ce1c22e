import { ulid } from 'ulid';
import { parseBoundedJson } from '../../base/bounded-json.ts';
import { toHash, type Hash } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { invalid, tooLarge, notFound } from '../../base/errors.ts';
import type { Lifetime } from '../../base/lifetime.ts';
import type { LruCache } from '../../base/lru-cache.ts';
import type { OneAtATime } from '../../base/one-at-a-time.ts';
import { shown, assertWellFormed, kindOf } from '../../base/text.ts';
import type { Engine } from '../../engine/engine.ts';

/** Reads the text at an `artifact://…` address, of the session given first. A QuipuError tells why there is none. */
export type ReadArtifact = (url: string, session: string | undefined) => Promise<string>;

/** The store that workflows are kept in. */
export interface WorkflowsHome {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Changes of one index wait for each other here rather than collide in the engine. */
  readonly changes: OneAtATime<Hash>;
  /** Rounds used up to a state, by its hash. */
  readonly rounds: LruCache<Hash, number>;
  /** The time that a bundle may take to load, to choose the next role and to extract. */
  readonly quickMs: number;
  /** Absent where there are no sessions. */
  readonly readArtifact?: ReadArtifact | undefined;
}

declare const brand: unique symbol;
/** A ULID: 26 characters that sort by the time the thread was made. */
export type ThreadId = string & { readonly [brand]: 'ThreadId' };

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function isThreadId(text: unknown): text is ThreadId {
  return typeof text === 'string' && ULID.test(text);
}

/** The only way from text to `ThreadId`. */
export function toThreadId(text: string): ThreadId {
  if (isThreadId(text)) return text;
  throw invalid('thread id', `must be a ULID of 26 characters, got ${shown(text)}`);
}

export function newThreadId(nowMs: number): ThreadId {
  return toThreadId(ulid(nowMs));
}

// Limits of workflows. They keep one thread from costing the others their memory.

/** A garbage collection follows nodes up to twice this size, so it follows every node written here. */
export const NODE_BYTES_MAX: number = 8 * 1024 * 1024;
export const PROMPT_BYTES_MAX: number = 8 * 1024 * 1024;
export const META_BYTES_MAX: number = 256 * 1024;
export const SUMMARY_BYTES_MAX: number = 1024 * 1024;
const CONTENT_REFS_MAX = 10_000;
/** The skip list of a state: this many ancestors behind its parent. */
export const ANCESTORS_MAX = 10;
export const ROUNDS_DEFAULT = 10;
export const ROUNDS_MAX = 1_000_000;
/** The limit for children of children: a deeper workflow calls itself for ever. */
export const DEPTH_MAX = 16;
export const STEPS_DEFAULT = 50;
export const STEPS_MAX = 1000;
export const LIST_DEFAULT = 50;
export const LIST_MAX = 10_000;
export const BUNDLE_BYTES_MAX: number = 4 * 1024 * 1024;
export const NAME_CHARS_MAX = 64;

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
