import { describe, expect, it } from 'vitest';
import { CqlError, parseCql } from './cql.ts';
import type { CqlContext } from './cql.ts';

const NOW = Date.parse('2026-01-10T00:00:00Z');
const HOUR = 3_600_000;
const one: CqlContext = {
  id: 7,
  tag: 'amplifier',
  title: 'Fix "it"',
  label: ['a', 'b'],
  user: 'Alice',
  service: 'worker-1',
  parent: 3,
  created: NOW - 2 * HOUR,
  depth: 5,
  is_live: true,
};
const bare: CqlContext = { id: 8, label: [], created: NOW - 48 * HOUR, depth: 0, is_live: false };
const found = (query: string): number[] =>
  [one, bare].filter(parseCql(query, NOW)).map(({ id }) => id as number);

describe('parseCql', () => {
  it.each([
    ['tag = "amplifier"', [7]],
    ['tag = \'amplifier\' AND user = "Alice"', [7]],
    ['tag != "amplifier"', [8]],
    ['NOT tag = "test"', [7, 8]],
    ['service ^= "worker"', [7]],
    ['user ~= "ALICE"', [7]],
    ['service ^~= "WORKER"', [7]],
    ['title = "Fix \\"it\\""', [7]],
    ['label = "b"', [7]],
    ['label != "b"', [8]],
    ['created > "-24h"', [7]],
    ['created < "2026-01-09"', [8]],
    ['created >= "2026-01-09T22:00:00Z"', [7]],
    ['created > "-3d" AND created <= "-1d"', [8]],
    ['depth >= 5', [7]],
    ['depth < 5', [8]],
    ['id IN (8, 9)', [8]],
    ['tag in ("x", "amplifier")', [7]],
    ['is_live = true', [7]],
    ['parent = 3', [7]],
    // AND before OR, NOT before AND.
    ['id = 8 OR id = 7 AND tag = "no"', [8]],
    ['(id = 8 OR id = 7) AND NOT is_live = true', [8]],
  ])('%s', (query, expected) => {
    expect(found(query)).toEqual(expected);
  });

  it.each([
    ['tag =', 'InvalidValue', 5],
    ['tag "x"', 'InvalidOperator', 4],
    ['nobody = 1', 'UnknownField', 0],
    ['tag > "x"', 'InvalidOperator', 4],
    ['depth = "many"', 'InvalidValue', 8],
    ['created > "soon"', 'InvalidValue', 10],
    ['(tag = "x"', 'UnexpectedToken', 10],
    ['tag = "x" tag', 'UnexpectedToken', 10],
    ['tag = "x', 'UnexpectedToken', 6],
    ['tag = "x" ; drop', 'UnexpectedToken', 10],
    ['', 'UnexpectedToken', 0],
    ['('.repeat(40), 'UnexpectedToken', 33],
    [Array.from({ length: 300 }, () => 'id = 1').join(' OR '), 'UnexpectedToken', 2560],
    ['x'.repeat(5000), 'InvalidValue', 4096],
  ])('refuses %s', (query, kind, position) => {
    const error = (() => {
      try {
        return parseCql(query, NOW);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(CqlError);
    expect(error).toMatchObject({ kind, position });
  });
});
