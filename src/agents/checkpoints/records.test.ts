import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changed, stateAfter, type Value } from './values.ts';

function piecesOf(value: Value): string[] {
  return typeof value === 'object' ? value.pieces.slice(0, value.length) : [];
}

describe('lists of pieces', () => {
  it('may be longer than the arguments of a call may be', () => {
    const added = Array.from({ length: 200_000 }, (_, n) => `n${n}`);
    const list = piecesOf(changed([1, 1, ...added], changed([0, 0, '0', '1', '2'])));
    expect(list.length).toBe(200_002);
    expect([list[0], list[1], list.at(-2), list.at(-1)]).toEqual(['0', 'n0', 'n199999', '2']);
  });

  it('stay what they were, whichever of them another one continues', () => {
    const text = fc.constantFrom('a', 'b', 'c');
    const cut = fc.record({
      from: fc.nat(),
      keep: fc.nat(),
      tail: fc.nat(),
      added: fc.array(text),
    });
    const cuts = fc.array(cut, { maxLength: 30 });
    fc.assert(
      fc.property(cuts, (changes) => {
        const lists: Value[] = [changed([0, 0])];
        const expected: string[][] = [[]];
        for (const { from, keep, tail, added } of changes) {
          const old = expected[from % lists.length]!;
          // Half of them only grow, as lists of messages do.
          const kept = keep % 2 === 0 ? old.length : keep % (old.length + 1);
          const ends = tail % (old.length - kept + 1);
          lists.push(changed([kept, ends, ...added], lists[from % lists.length]));
          expected.push([...old.slice(0, kept), ...added, ...old.slice(old.length - ends)]);
        }
        expect(lists.map(piecesOf)).toEqual(expected);
      }),
    );
  });
});

describe('the values after a checkpoint', () => {
  const first = stateAfter(undefined, {
    full: true,
    values: [
      ['n', '=1'],
      ['gone', '=2'],
    ],
  })!;

  it('are those before it, with its changes', () => {
    const values = [
      ['gone', null],
      ['list', [0, 0, '=3']],
    ] as const;
    const state = stateAfter(first, { full: false, values });
    expect([...state!]).toEqual([
      ['n', '=1'],
      ['list', { pieces: ['=3'], length: 1 }],
    ]);
    expect([...first]).toEqual([
      ['n', '=1'],
      ['gone', '=2'],
    ]);
  });

  it('are its own alone if it has all of them, and unknown after an erased one otherwise', () => {
    expect([...stateAfter(first, { full: true, values: [['n', '=4']] })!]).toEqual([['n', '=4']]);
    expect(stateAfter(undefined, { full: false, values: [] })).toBeUndefined();
  });
});
