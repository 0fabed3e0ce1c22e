import { describe, expect, it } from 'vitest';
import { toContextId, toTurnId } from '../../../base/brand.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import type { TurnRecord } from '../../../format/turn-record.ts';
import { headFrom, type HeadSources } from './heads.ts';

const NOTHING: HeadSources = {
  id: 3,
  nextTurn: 10,
  seen: undefined,
  slot: undefined,
  turns: undefined,
  move: undefined,
  unsure: false,
  removed: false,
  open: undefined,
};
const SEEN = { head: 7, base: 2, createdAt: 100, updatedAt: 500, removed: false };
const turn = (id: number, parent: number, createdAt: number): TurnRecord =>
  ({ id: toTurnId(id), parent: toTurnId(parent), createdAt }) as TurnRecord;
const TURNS = { first: turn(4, 1, 110), newest: turn(7, 4, 480) };

describe('a head that is made again', () => {
  it('is what the index says', () => {
    const head = headFrom({ ...NOTHING, seen: SEEN, turns: TURNS });
    expect(head).toMatchObject({ head: 7n, base: 2n, createdAt: 100, updatedAt: 500 });
  });

  it('is at its newest turn, and begins where its first one does, without an index', () => {
    const head = headFrom({ ...NOTHING, turns: TURNS });
    expect(head).toMatchObject({ head: 7n, base: 1n, createdAt: 110, updatedAt: 480 });
  });

  it('begins where an old record of it says', () => {
    const slot = { id: toContextId(3), base: toTurnId(2), createdAt: 90 } as HeadRecord;
    const head = headFrom({ ...NOTHING, slot, turns: TURNS });
    expect(head).toMatchObject({ head: 7n, base: 2n, createdAt: 90 });
  });

  it('believes nobody who names a turn that never was', () => {
    const head = headFrom({ ...NOTHING, seen: { ...SEEN, head: 99, base: 99 }, turns: TURNS });
    expect(head).toMatchObject({ head: 7n, base: 1n });
  });

  it('goes on from the index to a turn that came later', () => {
    const newest = turn(9, 7, 600);
    const head = headFrom({ ...NOTHING, seen: SEEN, turns: { ...TURNS, newest } });
    expect(head).toMatchObject({ head: 9n, base: 2n, updatedAt: 600 });
  });

  it('is where it was moved, unless a turn came after that', () => {
    const move = { to: toTurnId(4), after: toTurnId(8) };
    const seen = { ...SEEN, head: 4 };
    expect(headFrom({ ...NOTHING, turns: TURNS, move })).toMatchObject({ head: 4n });
    expect(headFrom({ ...NOTHING, seen, turns: TURNS, move })).toMatchObject({ head: 4n });
    const newest = turn(9, 4, 600);
    const later = { ...NOTHING, seen, turns: { ...TURNS, newest }, move };
    expect(headFrom(later)).toMatchObject({ head: 9n, updatedAt: 600 });
  });

  it('is not guessed when nothing tells of it, or its newest turn may be one that is damaged', () => {
    expect(headFrom(NOTHING)).toBeUndefined();
    expect(headFrom({ ...NOTHING, turns: TURNS, unsure: true })).toBeUndefined();
    expect(headFrom({ ...NOTHING, seen: SEEN, turns: TURNS, unsure: true })).toBeDefined();
  });

  it('keeps its open turn, unless it was removed', () => {
    const open = { turn: toTurnId(8), bytes: 12 };
    const sources = { ...NOTHING, seen: SEEN, turns: TURNS, open };
    expect(headFrom(sources)).toMatchObject({ openTurn: 8n, openBytes: 12 });
    const removed = headFrom({ ...sources, removed: true });
    expect(removed).toMatchObject({ openTurn: 0n, openBytes: 0, removed: true });
  });
});
