import { expect, it } from 'vitest';
import { pairCalls, type ShownTurn } from './pair-calls.ts';
import type { Block } from './shown.ts';

const call = (name: string, id?: string): Block => ({
  kind: 'call',
  name,
  input: {},
  ...(id !== undefined && { id }),
});
const result = (text: string, id?: string): Block => ({
  kind: 'result',
  text,
  failed: false,
  ...(id !== undefined && { id }),
});
const text: Block = { kind: 'text', text: 'x' };

/** Turn `n` was written `n` milliseconds after the first. */
const turns = (...blocks: readonly (readonly Block[])[]): ShownTurn<{ id: string }>[] =>
  blocks.map((list, at) => ({
    turn: { id: String(at + 1) },
    shown: { role: 'other', blocks: list },
    at,
    isReadable: true,
  }));
const told = (given: ShownTurn<{ id: string }>[]): unknown =>
  pairCalls(given).map(({ turn, more, answers }) => [
    turn.id,
    more.map(({ id }) => id),
    [...answers].map(([place, { result: found, tookMs }]) => [place, found.text, tookMs]),
  ]);

it('puts a result into the turn of its call', () => {
  expect(told(turns([text], [call('a')], [result('r')], [text]))).toEqual([
    ['1', [], []],
    ['2', ['3'], [[0, 'r', 1]]],
    ['4', [], []],
  ]);
});

it('finds the call by id, whatever the order, over several turns', () => {
  const given = turns(
    [text, call('a', '1'), call('b', '2')],
    [result('of b', '2')],
    [result('of a', '1')],
  );
  expect(told(given)).toEqual([
    [
      '1',
      ['2', '3'],
      [
        [2, 'of b', 1],
        [1, 'of a', 2],
      ],
    ],
  ]);
});

it('leaves alone what says anything else, answers another call, or is hidden', () => {
  expect(told(turns([call('a', '1')], [result('r', '9')]))).toHaveLength(2);
  expect(told(turns([call('a')], [result('r'), text]))).toHaveLength(2);
  expect(told(turns([call('a')], [result('r')], [result('again')]))).toHaveLength(2);
  const [first, second] = turns([call('a')], [result('r')]);
  expect(told([first!, { ...second!, isReadable: false }])).toHaveLength(2);
});
