import { VALUE_BOUNDS } from './bounded-json.ts';
import { invalid } from './errors.ts';

// RFC 8785. Written here because it is on the way of every JSON payload: on 10 KB of chat messages it
// takes 55 µs, JSON.stringify 45 µs and the `canonicalize` package 117 µs (Node 20, 2 vCPU), which also
// lets functions and holes in arrays through as text that is not JSON. The tests compare the two.

/** A deeper value is a cycle or an attack, and no reader takes it. The recursion stays far from the end of the stack. */
const DEPTH_MAX = VALUE_BOUNDS.depth;

/** An escape that JSON.stringify writes for a lone surrogate, behind an even number of backslashes. */
const LONE_SURROGATE = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/;

/**
 * The one JSON text of a value. As with JSON.stringify, `toJSON` is asked, undefined properties are
 * left out, and undefined in an array is null. Throws INVALID for what JSON cannot hold: undefined as
 * such, functions, symbols, bigint, NaN, infinities, maps, sets, binary data, cycles, lone surrogates.
 */
export function canonicalJson(value: unknown): string {
  const text = write(value, 0);
  if (text.includes('\\ud') && LONE_SURROGATE.test(text)) throw cannotHold('a lone surrogate');
  return text;
}

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) throw cannotHold(String(value));
      return JSON.stringify(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      return value === null ? 'null' : writeObject(value, depth + 1);
    case 'undefined':
      throw cannotHold('undefined');
    case 'bigint':
    case 'function':
    case 'symbol':
      throw cannotHold(`a ${typeof value}`);
  }
}

function writeObject(value: object, depth: number): string {
  if (depth > DEPTH_MAX) throw cannotHold(`a cycle, or more than ${DEPTH_MAX} levels`);
  if (hasToJson(value)) return write(value.toJSON(), depth);
  if (Array.isArray(value)) return writeArray(value, depth);
  if (value instanceof Map || value instanceof Set) throw cannotHold('a map or set');
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw cannotHold('binary data');
  return writeFields(value as Record<string, unknown>, depth);
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function writeArray(values: readonly unknown[], depth: number): string {
  let out = '[';
  for (let index = 0; index < values.length; index += 1) {
    if (index > 0) out += ',';
    const value = values[index];
    out += value === undefined ? 'null' : write(value, depth);
  }
  return `${out}]`;
}

function writeFields(fields: Record<string, unknown>, depth: number): string {
  let out = '{';
  // Without a comparator, sort compares UTF-16 code units, as the RFC asks.
  for (const name of Object.keys(fields).sort()) {
    const value = fields[name];
    if (value === undefined) continue;
    if (out.length > 1) out += ',';
    out += `${JSON.stringify(name)}:${write(value, depth)}`;
  }
  return `${out}}`;
}

function cannotHold(what: string): Error {
  return invalid('value', `holds ${what}, which JSON cannot represent`);
}
