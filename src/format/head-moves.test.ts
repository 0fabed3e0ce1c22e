import { describe, expect, it } from 'vitest';
import { toTurnId } from '../base/brand.ts';
import {
  contextOfMoves,
  decodeHeadMoves,
  encodeHeadMoves,
  headByRecords,
  headMovesName,
} from './head-moves.ts';

const MOVES = {
  move: { to: toTurnId(3), after: toTurnId(9) },
  left: [{ turn: toTurnId(7), leftAt: 1_700_000_000_000 }],
};

describe('the document of moved heads', () => {
  it('writes the version 1 text and reads it back', () => {
    const text = '{"after":"9","left":[{"leftAt":1700000000000,"turn":"7"}],"to":"3"}';
    expect(encodeHeadMoves(MOVES)).toBe(text);
    expect(decodeHeadMoves(text)).toEqual(MOVES);
  });

  it.each([
    '',
    '[]',
    'null',
    '{}',
    '{"after":"1","left":[{}],"to":"1"}',
    '{"after":1,"left":[],"to":1}',
  ])('does not take %s for one', (text) => {
    expect(decodeHeadMoves(text)).toBeUndefined();
  });

  it('is named after its context', () => {
    expect(headMovesName(12)).toBe('head-moves/12.json');
    expect(contextOfMoves('head-moves/12.json')).toBe(12);
    expect(contextOfMoves('contexts/12')).toBeUndefined();
  });

  it('counts until the context has a newer turn', () => {
    expect(headByRecords(9, 1, MOVES.move)).toBe(3);
    expect(headByRecords(10, 1, MOVES.move)).toBe(10);
    expect([headByRecords(0, 1, undefined), headByRecords(4, 1, undefined)]).toEqual([1, 4]);
    expect(headByRecords(4, 1, { to: toTurnId(0, true), after: toTurnId(4) })).toBe(0);
  });
});
