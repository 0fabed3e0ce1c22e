import { describe, expect, it } from 'vitest';
import { parseQuery } from './parse-query.ts';
import { planFts5 } from './plan-fts5.ts';

const NOW = Date.UTC(2026, 10, 18);
const word = (token: string, prefix = false): object => ({ kind: 'term', token, prefix });

describe('parseQuery', () => {
  it.each<[string, unknown]>([
    ['one', word('one')],
    ['One TWO', { kind: 'and', terms: [word('one'), word('two')] }],
    [
      'a OR b c',
      { kind: 'or', terms: [word('a'), { kind: 'and', terms: [word('b'), word('c')] }] },
    ],
    ['-a', { kind: 'not', term: word('a') }],
    ['--a', { kind: 'not', term: { kind: 'not', term: word('a') } }],
    ['pre*', word('pre', true)],
    ['"a b"', { kind: 'phrase', parts: ['a', 'b'], prefix: false }],
    ['"a be"*', { kind: 'phrase', parts: ['a', 'be'], prefix: true }],
    ['foo.bar', { kind: 'phrase', parts: ['foo', 'bar'], prefix: false }],
    ['std::vector', { kind: 'phrase', parts: ['std', 'vector'], prefix: false }],
    ['getUserName', word('getusername')],
    ['c++', word('c++')],
    ['日', word('日', true)],
    ['日本語', { kind: 'phrase', parts: ['日本', '本語'], prefix: false }],
    ['語v8', { kind: 'phrase', parts: ['語', 'v8'], prefix: false }],
    ['role:user', { kind: 'field', field: 'role', value: 'user' }],
    ['Role:"a b"', { kind: 'field', field: 'role', value: 'a b' }],
    ['foo:bar', { kind: 'phrase', parts: ['foo', 'bar'], prefix: false }],
    ['"OR"', word('or')],
  ])('%s', (text, condition) => {
    expect(parseQuery(text, NOW).condition).toEqual(condition);
  });

  it('keeps limits apart, also in groups and under a NOT', () => {
    const { condition, limits } = parseQuery(
      '(a context:5 after:2026-01-01) -label:x -before:7d after:2026-02-01',
      NOW,
    );
    expect(condition).toEqual(word('a'));
    expect(limits).toEqual({
      contexts: [{ value: '5', wanted: true }],
      labels: [{ value: 'x', wanted: false }],
      after: NOW - 7 * 86_400_000,
    });
  });

  it('shows the place in a long query', () => {
    const text = `${'word '.repeat(40)}"open`;
    const lines = failureOf(() => parseQuery(text, NOW)).split('\n');
    expect(lines[1]?.[lines[2]?.indexOf('^') ?? 0]).toBe('"');
  });
});

function failureOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

describe('planFts5', () => {
  it.each([
    ['a b', '("a" AND "b")'],
    ['a -b', '(("a") NOT "b")'],
    ['"a b" c*', undefined],
    ['x y*', undefined],
  ])('%s', (text, plan) => {
    const made =
      failureOf(() => parseQuery(text, NOW)) === ''
        ? planFts5(parseQuery(text, NOW).condition)
        : undefined;
    expect(made).toBe(plan);
  });

  it('begins with everything where nothing is wanted', () => {
    expect(planFts5(parseQuery('-a', NOW).condition)).toMatch(/^\(\(".context" OR .*\) NOT "a"\)$/);
  });

  it('keeps a phrase in its column, and quotes what would be an operator', () => {
    expect(planFts5(parseQuery('"a near"', NOW).condition)).toBe('part : "a near"');
    expect(planFts5({ kind: 'field', field: 'role', value: 'a"b c' })).toMatch(/^"[^" ]+"$/);
  });
});
