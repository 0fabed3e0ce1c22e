import { describe, expect, it } from 'vitest';
import { checkSchema, findMarked, findMismatch, type JsonSchema } from './json-schema.ts';

const SCHEMA: JsonSchema = {
  type: 'object',
  required: ['ok'],
  additionalProperties: false,
  properties: {
    ok: { type: 'boolean' },
    score: { type: 'integer', minimum: 0, maximum: 10 },
    kind: { enum: ['a', 'b'] },
    fixed: { const: 1 },
    name: { type: 'string', minLength: 1, maxLength: 3 },
    list: { type: 'array', minItems: 1, items: { type: 'number' } },
    files: { type: 'array', ref: true, items: { type: 'string' } },
    log: { type: 'string', ref: true },
    nothing: { type: 'null' },
  },
};

describe('findMismatch', () => {
  it('finds nothing wrong with what fits', () => {
    const value = {
      ok: true,
      score: 10,
      kind: 'b',
      fixed: 1,
      name: 'abc',
      list: [1.5],
      nothing: null,
    };
    expect(findMismatch(SCHEMA, value)).toBeUndefined();
    expect(findMismatch({}, 'anything')).toBeUndefined();
  });

  it.each([
    [[], 'meta is an array and not object'],
    [{}, 'meta.ok is missing'],
    [{ ok: 1 }, 'meta.ok is number and not boolean'],
    [{ ok: true, score: 1.5 }, 'meta.score is number and not integer'],
    [{ ok: true, score: 11 }, 'meta.score is 11, outside 0 to 10'],
    [{ ok: true, kind: 'c' }, 'meta.kind is none of ["a","b"]'],
    [{ ok: true, fixed: 2 }, 'meta.fixed is not 1'],
    [{ ok: true, name: '' }, 'the length of meta.name is 0, outside 1 to 3'],
    [{ ok: true, list: [] }, 'the length of meta.list is 0, outside 1 to Infinity'],
    [{ ok: true, list: [1, 'x'] }, 'meta.list[1] is string and not number'],
    [{ ok: true, more: 1 }, 'meta.more is not allowed'],
    [{ ok: true, nothing: 0 }, 'meta.nothing is number and not null'],
  ])('says of %j: %s', (value, wrong) => {
    expect(findMismatch(SCHEMA, value)).toBe(wrong);
  });
});

it('finds the texts that are marked, in lists too', () => {
  const value = { ok: true, files: ['a', 'b'], log: 'c', name: 'd' };
  expect(findMarked(SCHEMA, value)).toEqual(['a', 'b', 'c']);
});

it('refuses a schema with what it does not know', () => {
  expect(() => checkSchema(SCHEMA, 'schema')).not.toThrow();
  const wrong = [
    5,
    { pattern: 'x' },
    { type: 'text' },
    { items: { $ref: '#' } },
    { properties: { a: { minimum: 'x' } } },
  ];
  for (const schema of wrong) expect(() => checkSchema(schema, 'schema')).toThrow(/^schema/);
});
