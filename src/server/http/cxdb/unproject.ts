import { invalid } from '../../../base/errors.ts';
import type { FieldSpec, Registry, TypeSpec } from './type-bundle.ts';

// The way back of `project.ts`: JSON with names becomes fields with numbers. What the type does not know stays as it is.

type Fields = Readonly<Record<string, unknown>>;

/** Throws INVALID for a value that does not fit its type. */
export function unproject(value: unknown, spec: TypeSpec, registry: Registry): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
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
