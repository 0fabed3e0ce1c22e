import { findExcess } from '../base/bounded-json.ts';
import { invalid, tooLarge } from '../base/errors.ts';
import type { QuipuError } from '../base/errors.ts';
import { CALL_BLOBS_MAX, CALL_DEPTH_MAX, CALL_JSON_BYTES_MAX, CALL_VALUES_MAX } from './limits.ts';

// This also runs in a browser.

/** Bytes that lie in several places and travel as one array, so that nobody has to copy them together first. */
export class ByteParts {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(part: Uint8Array): void {
    this.#parts.push(part);
    this.#length += part.length;
  }

  [Symbol.iterator](): Iterator<Uint8Array> {
    return this.#parts.values();
  }

  /** Copies all parts into one array. */
  joined(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }
}

export type CallBytes = Uint8Array | ByteParts;

/** Returns the bytes in one array. Bytes that are in one array already are not copied. */
export function inOne(bytes: CallBytes): Uint8Array {
  return bytes instanceof ByteParts ? bytes.joined() : bytes;
}

// Values of calls: JSON, with byte arrays beside it. A value that JSON lacks is an object with one name:
//   {"$n":"123"}  a bigint               {"$b":0}      the byte array with that number
//   {"$u":0}      undefined              {"$f":"NaN"}  a number that JSON has not: NaN, ±Infinity, -0
// In all other objects a name that begins with "$" is written with one "$" more.

/** A value as it travels. */
export interface CallBody {
  readonly json: string;
  readonly blobs: readonly CallBytes[];
}

/** Far above any u64; the time to parse a number grows with the square of its digits. */
const BIGINT = /^-?\d{1,40}$/;
const DOLLAR = 0x24;
const BIGINT_LIMIT = 10n ** 40n;
const FLOATS: ReadonlyMap<unknown, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
]);

/** Throws INVALID for values that are neither plain data nor bytes, and for cycles; TOO_LARGE past the limits. */
export function toCall(value: unknown): CallBody {
  const blobs: CallBytes[] = [];
  const json = JSON.stringify(pack(value, blobs, 1));
  checkJsonBounds(json);
  return { json, blobs };
}

/** Restores the value that `toCall` was given, with parts joined. Byte arrays share their memory with `blobs`. */
export function fromCall(body: CallBody): unknown {
  checkJsonBounds(body.json);
  let value: unknown;
  try {
    value = JSON.parse(body.json);
  } catch {
    throw invalid('call', 'is not JSON');
  }
  return unpack(value, body.blobs);
}

function pack(value: unknown, blobs: CallBytes[], depth: number): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Object.is(value, -0)) return { $f: '-0' };
      return Number.isFinite(value) ? value : { $f: String(value) };
    case 'bigint':
      if (value >= BIGINT_LIMIT || value <= -BIGINT_LIMIT)
        throw invalid('call', 'has a huge bigint');
      return { $n: String(value) };
    case 'undefined':
      return { $u: 0 };
    case 'object':
      return value === null ? null : packObject(value, blobs, depth);
    case 'function':
    case 'symbol':
      throw invalid('call', `cannot carry a ${typeof value}`);
  }
}

function packObject(value: object, blobs: CallBytes[], depth: number): unknown {
  if (value instanceof Uint8Array || value instanceof ByteParts) {
    if (blobs.length === CALL_BLOBS_MAX) throw invalid('call', 'has too many byte arrays');
    blobs.push(value);
    return { $b: blobs.length - 1 };
  }
  if (depth > CALL_DEPTH_MAX) throw invalid('call', `has more than ${CALL_DEPTH_MAX} levels`);
  if (Array.isArray(value)) {
    return packItems(value, blobs, depth);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw invalid('call', 'carries plain objects, arrays and byte arrays, and no other objects');
  }
  const packed: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const item = pack((value as Record<string, unknown>)[name], blobs, depth + 1);
    setOwn(packed, isTagged(name) ? `$${name}` : name, item);
  }
  return packed;
}

/** A hole in an array becomes undefined. */
function packItems(items: readonly unknown[], blobs: CallBytes[], depth: number): unknown[] {
  const packed: unknown[] = [];
  for (let index = 0; index < items.length; index += 1) {
    packed.push(pack(items[index], blobs, depth + 1));
  }
  return packed;
}

function isTagged(name: string): boolean {
  return name.charCodeAt(0) === DOLLAR;
}

/** Changes arrays and objects in place: they come from JSON.parse, and nobody else holds them. */
function unpack(value: unknown, blobs: readonly CallBytes[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    for (let index = 0; index < items.length; index += 1)
      items[index] = unpack(items[index], blobs);
    return items;
  }
  const object = value as Record<string, unknown>;
  const names = Object.keys(object);
  if (!names.some(isTagged)) {
    for (const name of names) object[name] = unpack(object[name], blobs);
    return object;
  }
  const [first = ''] = names;
  if (names.length === 1 && !first.startsWith('$$')) return unpackTag(first, object[first], blobs);
  const unpacked: Record<string, unknown> = {};
  for (const name of names) setOwn(unpacked, unescape(name), unpack(object[name], blobs));
  return unpacked;
}

function unpackTag(tag: string, content: unknown, blobs: readonly CallBytes[]): unknown {
  if (tag === '$n' && typeof content === 'string' && BIGINT.test(content)) return BigInt(content);
  if (tag === '$u' && content === 0) return undefined;
  const float = tag === '$f' ? FLOATS.get(content) : undefined;
  if (float !== undefined) return float;
  const blob = tag === '$b' && typeof content === 'number' ? blobs[content] : undefined;
  if (blob !== undefined) return inOne(blob);
  throw invalid('call', 'has a tag that does not fit');
}

function unescape(name: string): string {
  if (!name.startsWith('$')) return name;
  if (name.startsWith('$$')) return name.slice(1);
  throw invalid('call', 'has a tag among other names');
}

/** An assignment to `__proto__` would not make a property. */
function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') target[name] = value;
  else Object.defineProperty(target, name, { value, ...OWN });
}

const OWN = { enumerable: true, configurable: true, writable: true } as const;

const CALL_BOUNDS = { depth: CALL_DEPTH_MAX, values: CALL_VALUES_MAX };

/** Refuses the JSON of a call that is over the limits, before it is parsed. */
export function checkJsonBounds(json: string): void {
  const bytes = utf8Length(json);
  if (bytes > CALL_JSON_BYTES_MAX) throw tooMany('bytes', bytes, CALL_JSON_BYTES_MAX);
  const excess = findExcess(json, CALL_BOUNDS);
  if (excess?.of === 'depth') throw invalid('call', `has more than ${CALL_DEPTH_MAX} levels`);
  if (excess?.of === 'values') throw tooMany('values', excess.size, CALL_VALUES_MAX);
}

/** A unit takes at most three bytes, so only a text near the limit is measured. This also runs in a browser. */
function utf8Length(text: string): number {
  if (text.length * 3 <= CALL_JSON_BYTES_MAX) return text.length;
  return new TextEncoder().encode(text).length;
}

function tooMany(unit: string, size: number, limit: number): QuipuError<'TOO_LARGE'> {
  const message = `a call of ${size} ${unit} is over the limit of ${limit}; make smaller calls`;
  return tooLarge(`call ${unit}`, limit, size, message);
}
