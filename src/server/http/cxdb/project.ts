import { isFields } from '../../../base/fields.ts';
import type { Fields } from '../../../base/fields.ts';
import type { FieldSpec, Registry, TypeSpec } from './type-registry.ts';
import { invalid } from '../../../base/errors.ts';

// A payload with numbered fields as JSON with names, by the types that clients have published. The functions are pure,
// and their depth is bounded by that of the payload, which the decoder has checked.

/** As a query of cxdb says it. */
export interface RenderOptions {
  readonly bytes_render: 'base64' | 'hex' | 'len_only';
  readonly u64_format: 'string' | 'number';
  readonly enum_render: 'label' | 'number' | 'both';
  readonly time_render: 'iso' | 'unix_ms';
  readonly include_unknown: boolean;
  /** Texts end after this many bytes of UTF-8. */
  readonly string_limit?: number | undefined;
}

export interface Projected {
  readonly data: unknown;
  /** Fields that the type does not have, if they were asked for. */
  readonly unknown?: unknown;
}

const WIDE = new Set(['u64', 'uint64', 'i64', 'int64']);
const NARROW = new Set(['u32', 'uint32', 'u16', 'uint16', 'u8', 'uint8', 'i32', 'int32', 'int8']);
const TIMES = new Set(['unix_ms', 'time_ms', 'timestamp_ms']);
const DATE_MAX = 8.64e15;

/** Undefined when the value is no map of fields. */
export function project(
  value: unknown,
  spec: TypeSpec,
  registry: Registry,
  options: RenderOptions,
): Projected | undefined {
  const fields = asFields(value);
  if (fields === undefined) return undefined;
  const { known, rest } = divide(fields, spec);
  const render = new Renderer(registry, options);
  const data = Object.fromEntries(
    known.map(([field, one]) => [field.name, render.field(one, field)]),
  );
  if (!options.include_unknown) return { data };
  return { data, unknown: Object.fromEntries(rest.map(([name, one]) => [name, render.any(one)])) };
}

/** Fields by their number, or else by their name, and those that the type does not have. */
function divide(
  fields: Fields,
  spec: TypeSpec,
): { known: [FieldSpec, unknown][]; rest: [string, unknown][] } {
  const known: [FieldSpec, unknown][] = [];
  const taken = new Set<string>();
  for (const [tag, field] of spec.fields) {
    const key = Object.hasOwn(fields, tag) ? tag : field.name;
    taken.add(tag).add(field.name);
    if (Object.hasOwn(fields, key)) known.push([field, fields[key]]);
  }
  return { known, rest: Object.entries(fields).filter(([name]) => !taken.has(name)) };
}

function asFields(value: unknown): Fields | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getPrototypeOf(value) === Object.prototype ? (value as Fields) : undefined;
}

class Renderer {
  readonly #registry: Registry;
  readonly #options: RenderOptions;

  constructor(registry: Registry, options: RenderOptions) {
    this.#registry = registry;
    this.#options = options;
  }

  field(value: unknown, field: FieldSpec): unknown {
    const { type, enum: labels, ref, items, semantic = '' } = field;
    const label = labels === undefined ? undefined : this.#label(value, labels);
    if (label !== undefined) return label;
    if (ref !== undefined && (type === 'ref' || type === 'map')) return this.#ref(value, ref);
    if (TIMES.has(type) || TIMES.has(semantic)) return this.#time(value);
    if (WIDE.has(type)) return isInteger(value) ? this.#wide(value) : null;
    if (NARROW.has(type)) return isInteger(value) ? Number(value) : null;
    if (type === 'string') return typeof value === 'string' ? this.#text(value) : null;
    if (type === 'bool') return typeof value === 'boolean' ? value : null;
    if (type === 'bytes' || type === 'typed_blob') {
      return value instanceof Uint8Array ? this.#bytes(value) : null;
    }
    if (type === 'array') return Array.isArray(value) ? this.#items(value, items) : null;
    return this.any(value);
  }

  /** A value of which no type is known. */
  any(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (isInteger(value)) return value < 0 ? Number(value) : this.#wide(value);
    if (typeof value === 'number') return Number.isFinite(value) ? value : 0;
    if (typeof value === 'boolean') return value;
    if (value instanceof Uint8Array) return this.#bytes(value);
    if (Array.isArray(value)) return value.map((one) => this.any(one));
    const fields = asFields(value);
    if (fields === undefined) return null;
    return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, this.any(one)]));
  }

  #label(value: unknown, name: string): unknown {
    if (!isInteger(value)) return undefined;
    const labels = this.#registry.enums.get(name) ?? {};
    const key = String(value);
    if (!Object.hasOwn(labels, key)) return undefined;
    const label = labels[key];
    switch (this.#options.enum_render) {
      case 'number':
        return Number(value);
      case 'both':
        return { label, value: Number(value) };
      case 'label':
        return label;
    }
  }

  #ref(value: unknown, type: string): unknown {
    const spec = this.#registry.latest.get(type);
    const found = spec && project(value, spec, this.#registry, this.#options);
    if (found === undefined) return this.any(value);
    const { data, unknown } = found;
    const isEmpty = unknown === undefined || Object.keys(unknown as object).length === 0;
    return isEmpty ? data : { ...(data as object), _unknown: unknown };
  }

  #items(values: readonly unknown[], items: FieldSpec['items']): unknown {
    if (items === undefined) return values.map((one) => this.any(one));
    const { type = 'ref', ref } = typeof items === 'string' ? { type: items } : items;
    const field = { name: '', type, ...(ref !== undefined && { ref }) };
    return values.map((one) => this.field(one, field));
  }

  #wide(value: number | bigint): string | number {
    // JSON has no number beyond 2^53 that every reader takes alike.
    if (this.#options.u64_format === 'string' || typeof value === 'bigint') return String(value);
    return value;
  }

  #time(value: unknown): string | number | null {
    if (!isInteger(value)) return null;
    const ms = Number(value);
    if (this.#options.time_render === 'unix_ms') return ms;
    return Math.abs(ms) <= DATE_MAX ? new Date(ms).toISOString() : null;
  }

  #text(value: string): string {
    const { string_limit: limit } = this.#options;
    if (limit === undefined || value.length * 3 <= limit) return value;
    const bytes = Buffer.from(value);
    if (bytes.length <= limit) return value;
    let end = limit;
    // A character is not cut in two: its further bytes begin with the bits 10.
    while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    return bytes.toString('utf8', 0, end);
  }

  #bytes(value: Uint8Array): string | number {
    if (this.#options.bytes_render === 'len_only') return value.length;
    return Buffer.from(value).toString(this.#options.bytes_render);
  }
}

function isInteger(value: unknown): value is number | bigint {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}

// The way back of `project.ts`: JSON with names becomes fields with numbers. What the type does not know stays as it is.

/** Throws INVALID for a value that does not fit its type. */
export function unproject(value: unknown, spec: TypeSpec, registry: Registry): unknown {
  if (!isFields(value)) return value;
  const given = value as Fields;
  const entries: [string, unknown][] = [];
  const named = new Set<string>();
  for (const [tag, field] of spec.fields) {
    named.add(field.name);
    if (Object.hasOwn(given, field.name)) {
      entries.push([tag, toField(given[field.name], field, registry)]);
    } else if (field.optional !== true && !Object.hasOwn(given, tag)) {
      throw invalid(field.name, 'is missing, and its type requires it');
    }
  }
  const rest = Object.entries(given).filter(([name]) => !named.has(name));
  return Object.fromEntries([...entries, ...rest]);
}

function toField(value: unknown, field: FieldSpec, registry: Registry): unknown {
  if (value === null) return null;
  const { name, type, enum: labels, ref, items } = field;
  if (labels !== undefined && typeof value === 'string' && !/^\d+$/.test(value)) {
    const entries = Object.entries(registry.enums.get(labels) ?? {});
    const found = entries.find(([, label]) => label === value);
    if (found === undefined) throw invalid(name, `is no label of ${labels}`);
    return Number(found[0]);
  }
  if (ref !== undefined && (type === 'ref' || type === 'map')) return toRef(value, ref, registry);
  if (type === 'string') return mustBe(typeof value === 'string', value, name, 'a text');
  if (type === 'bool') return mustBe(typeof value === 'boolean', value, name, 'true or false');
  if (type === 'bytes' || type === 'typed_blob') return toBytes(value, name);
  if (type === 'array') {
    if (!Array.isArray(value)) throw invalid(name, 'is a list');
    const given = typeof items === 'object' ? items : { type: items };
    const { type: kind = given.ref === undefined ? 'any' : 'ref', ref: of } = given;
    const one = { name, type: kind, ...(of !== undefined && { ref: of }) };
    return value.map((item) => toField(item, one, registry));
  }
  return /^u?int?\d+$|^[ui]\d+$/.test(type) ? toInteger(value, name) : value;
}

function toRef(value: unknown, type: string, registry: Registry): unknown {
  const spec = registry.latest.get(type);
  return spec === undefined ? value : unproject(value, spec, registry);
}

function toInteger(value: unknown, name: string): number | bigint {
  if (Number.isSafeInteger(value)) return value as number;
  if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) {
    const narrow = Number(value);
    return Number.isSafeInteger(narrow) ? narrow : BigInt(value);
  }
  throw invalid(name, 'must be a whole number, and a text if it is above 2^53');
}

function toBytes(value: unknown, name: string): Uint8Array {
  if (typeof value === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(value)) {
    return new Uint8Array(Buffer.from(value, 'base64'));
  }
  throw invalid(name, 'must be bytes in base64');
}

function mustBe(fits: boolean, value: unknown, name: string, what: string): unknown {
  if (!fits) throw invalid(name, `is ${what}`);
  return value;
}
