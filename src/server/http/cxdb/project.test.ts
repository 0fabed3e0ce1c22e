import { describe, expect, it } from 'vitest';
import { project } from './project.ts';
import type { RenderOptions } from './project.ts';
import { NO_TYPES, mergeBundle, parseBundle } from './type-registry.ts';
import type { Registry } from './type-registry.ts';

const OPTIONS: RenderOptions = {
  bytes_render: 'base64',
  u64_format: 'string',
  enum_render: 'label',
  time_render: 'iso',
  include_unknown: false,
};

const bundle = (types: Record<string, object>, enums: object = {}, id = 'b1'): unknown => ({
  registry_version: 1,
  bundle_id: id,
  types: Object.fromEntries(
    Object.entries(types).map(([type, fields]) => [type, { versions: { 1: { fields } } }]),
  ),
  enums,
});

let breaths = 0;
const breathe = async (): Promise<void> => {
  breaths += 1;
};

async function registryOf(...given: unknown[]): Promise<Registry> {
  let known = NO_TYPES;
  for (const one of given) {
    known = await mergeBundle(known, await parseBundle(one, breathe), breathe);
  }
  return known;
}

const shown = (registry: Registry, value: unknown, options: Partial<RenderOptions> = {}) =>
  project(value, registry.types.get('T')!.get(1)!, registry, { ...OPTIONS, ...options });

const fields = {
  1: { name: 'role', type: 'u8', enum: 'Role' },
  2: { name: 'text', type: 'string' },
  3: { name: 'at', type: 'u64', semantic: 'unix_ms' },
  4: { name: 'raw', type: 'bytes' },
  5: { name: 'big', type: 'u64' },
  6: { name: 'nested', type: 'map', ref: 'N' },
  7: { name: 'list', type: 'array', items: { ref: 'N' } },
  8: { name: 'words', type: 'array', items: 'string' },
};
const registry = await registryOf(
  bundle({ T: fields, N: { 1: { name: 'name', type: 'string' } } }, { Role: { 2: 'user' } }),
);

describe('project', () => {
  it('names numbered fields, also of types in types', () => {
    const value = {
      1: 2,
      2: 'hi',
      3: 1000,
      4: Uint8Array.of(255),
      5: 2n ** 60n,
      6: { 1: 'inner', 99: 'extra' },
      7: [{ 1: 'a' }, 'scalar'],
      8: ['x', 5],
      9: 42,
    };
    expect(shown(registry, value)).toEqual({
      data: {
        role: 'user',
        text: 'hi',
        at: '1970-01-01T00:00:01.000Z',
        raw: '/w==',
        big: '1152921504606846976',
        nested: { name: 'inner' },
        list: [{ name: 'a' }, 'scalar'],
        words: ['x', null],
      },
    });
    expect(shown(registry, value, { include_unknown: true })).toMatchObject({
      data: {
        nested: { name: 'inner', _unknown: { 99: 'extra' } },
        list: [{ name: 'a' }, 'scalar'],
      },
      unknown: { 9: '42' },
    });
  });

  it('shows values as it is asked to', () => {
    const value = { 1: 2, 3: 1000, 4: Uint8Array.of(255), 5: 7 };
    const options = {
      bytes_render: 'hex',
      u64_format: 'number',
      enum_render: 'both',
      time_render: 'unix_ms',
    } as const;
    expect(shown(registry, value, options)?.data).toEqual({
      role: { label: 'user', value: 2 },
      at: 1000,
      raw: 'ff',
      big: 7,
    });
    expect(shown(registry, { 2: 'éclair' }, { string_limit: 4 })?.data).toEqual({ text: 'écl' });
    expect(shown(registry, { 1: 9, 2: 5 })?.data).toEqual({ role: 9, text: null });
  });

  it('takes fields by name where there is no number, and refuses what is no map', () => {
    expect(shown(registry, { 2: 'numbered', text: 'named', big: 7 })?.data).toEqual({
      text: 'numbered',
      big: '7',
    });
    for (const value of ['x', 5, null, [1], Uint8Array.of(1)]) {
      expect(shown(registry, value)).toBeUndefined();
    }
  });

  it('lets no name of a field reach the prototype of an object', async () => {
    const hostile = await registryOf(bundle({ T: { 1: { name: '__proto__', type: 'string' } } }));
    const data = shown(hostile, { 1: 'x' })?.data as object;
    expect(Object.getPrototypeOf(data)).toBe(Object.prototype);
    expect(JSON.stringify(data)).toBe('{"__proto__":"x"}');
  });
});

describe('mergeBundle', () => {
  const one = bundle({ T: { 1: { name: 'a', type: 'string' } } });

  it('takes further versions and types', async () => {
    const more = { registry_version: 1, bundle_id: 'b2' };
    const versions = { 2: { fields: { 1: { name: 'b', type: 'string' } } } };
    const merged = await registryOf(one, { ...more, types: { T: { versions }, U: {} } });
    expect([...merged.types.get('T')!.keys()]).toEqual([1, 2]);
    expect(merged.bundles).toEqual(['b1', 'b2']);
  });

  it.each([
    ['another meaning of a version', bundle({ T: { 1: { name: 'b', type: 'string' } } }, {}, 'b2')],
    [
      'a tag with another kind',
      {
        registry_version: 1,
        bundle_id: 'b2',
        types: { T: { versions: { 2: { fields: { 1: { name: 'a', type: 'u64' } } } } } },
      },
    ],
  ])('refuses %s', async (_, given) => {
    await expect(registryOf(one, given)).rejects.toMatchObject({ code: 'EXISTS' });
  });

  it.each([
    ['an enum that is not there', bundle({ T: { 1: { name: 'a', type: 'u8', enum: 'No' } } })],
    ['a tag that is no number', bundle({ T: { x: { name: 'a', type: 'u8' } } })],
    ['a registry without a version', { bundle_id: 'b', types: {} }],
    ['something else', 'bundle'],
  ])('refuses %s', async (_, given) => {
    await expect(registryOf(given)).rejects.toMatchObject({ code: 'INVALID' });
  });

  const many = (count: number, one: object | string): object =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [n, one]));
  const field = { name: 'a', type: 'u8' };

  it.each([
    ['types', { types: many(10_001, {}) }],
    ['versions', { types: { T: { versions: many(1001, {}) } } }],
    ['fields', { types: { T: { versions: { 1: { fields: many(1001, field) } } } } }],
    ['enums', { enums: many(10_001, {}) }],
    ['labels', { enums: { E: many(10_001, 'x') } }],
  ])('refuses too many %s', async (_, given) => {
    const whole = { registry_version: 1, bundle_id: 'b', ...given };
    await expect(registryOf(whole)).rejects.toMatchObject({ code: 'INVALID' });
  });

  it('lets others have their turn between any two versions and enums', async () => {
    const versions = many(400, { fields: { 1: field } });
    const large = { types: { T: { versions }, U: { versions } }, enums: many(300, { 1: 'x' }) };
    breaths = 0;
    await registryOf({ registry_version: 1, bundle_id: 'b', ...large });
    expect(breaths).toBeGreaterThan(2 * (400 + 400 + 300));
  });
});
