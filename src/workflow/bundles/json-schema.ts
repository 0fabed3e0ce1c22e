import { invalid } from '../../base/errors.ts';
import { kindOf } from '../../base/text.ts';

/** The part of JSON Schema that describes `meta`. `ref: true` marks texts that name artifacts. */
export interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly items?: JsonSchema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly ref?: boolean;
  readonly title?: string;
  readonly description?: string;
}

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const NUMBERS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'];

/** An unknown keyword is refused: a rule that is silently not kept is worse than none. */
const KEYWORDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  type: (value) => TYPES.includes(value as string),
  properties: (value) => kindOf(value) === 'object',
  required: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  additionalProperties: (value) => typeof value === 'boolean',
  items: (value) => kindOf(value) === 'object',
  enum: Array.isArray,
  const: () => true,
  ...Object.fromEntries(NUMBERS.map((name) => [name, (value: unknown) => Number.isFinite(value)])),
  ref: (value) => typeof value === 'boolean',
  title: (value) => typeof value === 'string',
  description: (value) => typeof value === 'string',
};

export function checkSchema(schema: unknown, what: string): void {
  if (kindOf(schema) !== 'object')
    throw invalid(what, `must be a JSON Schema, got ${kindOf(schema)}`);
  const given = schema as JsonSchema;
  for (const [keyword, value] of Object.entries(given)) {
    const check = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : undefined;
    if (check === undefined) {
      throw invalid(what, `has ${keyword}; known are ${Object.keys(KEYWORDS).join(', ')}`);
    }
    if (!check(value)) throw invalid(`${what}.${keyword}`, 'is not valid JSON Schema');
  }
  for (const [name, inner] of Object.entries(given.properties ?? {})) {
    checkSchema(inner, `${what}.properties.${name}`);
  }
  if (given.items !== undefined) checkSchema(given.items, `${what}.items`);
}

/** Returns the problem of a value, in words; undefined when there is none. */
export function findMismatch(schema: JsonSchema, value: unknown, at = 'meta'): string | undefined {
  if (schema.type !== undefined && !hasType(value, schema.type)) {
    return `${at} is ${kindOf(value)} and not ${schema.type}`;
  }
  if (schema.enum !== undefined && !schema.enum.some((other) => isEqual(other, value))) {
    return `${at} is none of ${JSON.stringify(schema.enum)}`;
  }
  if (schema.const !== undefined && !isEqual(schema.const, value)) {
    return `${at} is not ${JSON.stringify(schema.const)}`;
  }
  if (typeof value === 'number') return outOf(at, value, schema.minimum, schema.maximum);
  if (typeof value === 'string') {
    return outOf(`the length of ${at}`, value.length, schema.minLength, schema.maxLength);
  }
  if (Array.isArray(value)) return findInArray(schema, value, at);
  return kindOf(value) === 'object' ? findInObject(schema, value as object, at) : undefined;
}

function findInArray(
  schema: JsonSchema,
  values: readonly unknown[],
  at: string,
): string | undefined {
  const wrong = outOf(`the length of ${at}`, values.length, schema.minItems, schema.maxItems);
  if (wrong !== undefined || schema.items === undefined) return wrong;
  for (const [index, value] of values.entries()) {
    const found = findMismatch(schema.items, value, `${at}[${index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function findInObject(schema: JsonSchema, value: object, at: string): string | undefined {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `${at}.${missing} is missing`;
  for (const [name, inner] of Object.entries(value)) {
    if (!Object.hasOwn(properties, name)) {
      if (!additionalProperties) return `${at}.${name} is not allowed`;
      continue;
    }
    const found = findMismatch(properties[name] ?? {}, inner, `${at}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the texts that the schema marks as references. */
export function findMarked(schema: JsonSchema, value: unknown): readonly string[] {
  if (typeof value === 'string') return schema.ref === true ? [value] : [];
  if (Array.isArray(value)) {
    const { items = {}, ref } = schema;
    const inner = ref === true ? { ...items, ref } : items;
    return value.flatMap((item) => findMarked(inner, item));
  }
  if (kindOf(value) !== 'object') return [];
  return Object.entries(value as object).flatMap(([name, inner]) =>
    findMarked(schema.properties?.[name] ?? {}, inner),
  );
}

function hasType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  return kindOf(value) === type;
}

function outOf(what: string, value: number, min = -Infinity, max = Infinity): string | undefined {
  return value >= min && value <= max ? undefined : `${what} is ${value}, outside ${min} to ${max}`;
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
