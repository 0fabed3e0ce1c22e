import { expect, it } from 'vitest';
import { readFacts } from './context-facts.ts';

const long = 'a'.repeat(900_000);
const many = Array.from({ length: 100_000 }, (_, index) => `l${index}`);

it('reads what a first payload says, by numbers or by names', () => {
  expect(
    readFacts({ 30: { 1: 'tag', 2: 'title', 3: ['a', 1], 10: { 1: 7, 40: 'worker' } } }),
  ).toEqual({
    tag: 'tag',
    title: 'title',
    labels: ['a'],
    provenance: { parent_context_id: 7, service_name: 'worker' },
  });
  const named = { context_metadata: { client_tag: 'tag', provenance: { env: { A: 'b', C: 1 } } } };
  expect(readFacts(named)).toMatchObject({ tag: 'tag', provenance: { env: { A: 'b' } } });
  for (const payload of [null, 'text', {}, { 30: null }, { 30: { 10: null } }]) {
    expect(readFacts(payload)).toEqual({});
  }
});

it('keeps little of a payload that says very much, because every search looks at it', () => {
  const env = Object.fromEntries(many.map((name) => [name + long.slice(0, 1000), long]));
  const facts = readFacts({
    30: { 1: long, 2: long, 3: [...many, long], 10: { 2: long, 40: { deep: [long] }, 60: env } },
  });
  expect(JSON.stringify(facts).length).toBeLessThan(50_000);
  expect(facts.title).toBe('a'.repeat(512));
  expect(facts.labels).toHaveLength(32);
  expect(facts.provenance).not.toHaveProperty('service_name');
});
