import { describe, expect, it } from 'vitest';
import { checkHistory } from './check-history.ts';
import type { AppendAsked, FoundTurn, HeadAsked, Operation } from './check-history.ts';

// Times are small numbers: what is asked for at 1 and answered at 2 came before what is asked for at 3.

function append(
  name: string,
  [from, to]: readonly [number, number?],
  answer: Partial<AppendAsked> = {},
): AppendAsked {
  const times = { invokedAt: BigInt(from), ...(to !== undefined && { answeredAt: BigInt(to) }) };
  return { kind: 'append', context: '1', name, ...times, ...answer };
}

function acknowledged(name: string, id: number, times: readonly [number, number]): AppendAsked {
  return append(name, times, { turn: String(id), parent: String(id - 1), depth: id - 1 });
}

function head(depth: number, [from, to]: readonly [number, number]): HeadAsked {
  const times = { invokedAt: BigInt(from), answeredAt: BigInt(to) };
  return { kind: 'head', context: '1', turn: String(depth + 1), depth, ...times };
}

function found(...names: readonly string[]): FoundTurn[] {
  return names.map((name, depth) => ({
    id: String(depth + 1),
    parent: String(depth),
    depth,
    name,
  }));
}

function check(operations: readonly Operation[], chain: readonly FoundTurn[]): string[] {
  return checkHistory(operations, new Map([['1', chain]]));
}

const GOOD = [
  acknowledged('a', 1, [1, 4]),
  acknowledged('b', 2, [2, 3]),
  acknowledged('c', 3, [5, 6]),
];

describe('checkHistory', () => {
  it('finds nothing wrong with a good history', () => {
    expect(check(GOOD, found('a', 'b', 'c'))).toEqual([]);
    const looks = [head(-1, [0, 1]), head(0, [1, 3]), head(1, [4, 7]), head(2, [6, 7])];
    expect(check([...GOOD, ...looks], found('a', 'b', 'c'))).toEqual([]);
  });

  it('lets a request without an answer be there, once, or not', () => {
    const lost = append('d', [4]);
    expect(check([...GOOD, lost], found('a', 'b', 'c'))).toEqual([]);
    expect(check([...GOOD, lost], found('a', 'b', 'c', 'd'))).toEqual([]);
  });

  it('catches an acknowledgement that is lost', () => {
    expect(check(GOOD, found('a', 'b'))).toEqual(['c was acknowledged as turn 3 and is lost']);
    expect(check(GOOD, found('a', 'c', 'b'))).toContain('b was acknowledged as turn 2 and is lost');
  });

  it('catches a request that was carried out twice', () => {
    const twice = found('a', 'b', 'c', 'b');
    expect(check(GOOD, twice)).toContain('b is there twice, also as turn 4');
  });

  it('catches what nobody asked for, or what was refused', () => {
    expect(check(GOOD, found('a', 'b', 'c', 'x'))).toEqual(['nobody asked for x in 1']);
    const refused = append('d', [4, 5], { failed: true });
    expect(check([...GOOD, refused], found('a', 'b', 'c', 'd'))).toEqual([
      'd is there and was reported as refused',
    ]);
  });

  it('catches an id that was used again', () => {
    const again = [...GOOD, acknowledged('d', 3, [7, 8])];
    expect(check(again, found('a', 'b', 'd'))).toEqual([
      'c was acknowledged as turn 3 and is lost',
      'id 3 was given to c and to d',
    ]);
    const two = new Map([
      ['1', found('a')],
      ['2', found('b')],
    ]);
    const asked = [append('a', [1]), append('b', [1], { context: '2' })];
    expect(checkHistory(asked, two)).toEqual(['id 1 is in contexts 1 and 2']);
  });

  it('catches an order that was not the order of time', () => {
    const wrong = [acknowledged('late', 1, [5, 6]), acknowledged('early', 2, [1, 2])];
    expect(check(wrong, found('late', 'early'))).toEqual([
      'late stands before early, which was acknowledged before',
    ]);
    const unanswered = [append('late', [5]), acknowledged('early', 2, [1, 2])];
    expect(check(unanswered, found('late', 'early'))).toHaveLength(1);
  });

  it('catches a head that moved back, or saw the future', () => {
    expect(check([...GOOD, head(1, [7, 8])], found('a', 'b', 'c'))).toEqual([
      'a head went back: depth 1 was seen after depth 2 was known',
    ]);
    const looks = [append('d', [4]), head(3, [7, 8]), head(2, [9, 9])];
    expect(check([...GOOD, ...looks], found('a', 'b', 'c', 'd'))).toHaveLength(1);
    expect(check([...GOOD, head(2, [1, 2])], found('a', 'b', 'c'))).toEqual([
      'turn 3 was seen before it was asked for',
    ]);
    const gone = { ...head(1, [1, 2]), turn: '9' };
    expect(check([...GOOD, gone], found('a', 'b', 'c'))).toEqual([
      'a head was turn 9 at depth 1, now it is not',
    ]);
  });

  it('catches a broken chain', () => {
    const [a, b, c] = found('a', 'b', 'c') as [FoundTurn, FoundTurn, FoundTurn];
    expect(check(GOOD, [a, { ...b, parent: '0' }, c])).toContain('context 1 is broken at turn 2');
    expect(check(GOOD, [a, c])).toContain('context 1 is broken at turn 3');
    const asked = [append('a', [1]), append('b', [1])];
    expect(
      check(asked, [
        { ...a, id: '3' },
        { ...b, parent: '3' },
      ]),
    ).toEqual(['turn 2 has a lower id than the one before it']);
  });
});
