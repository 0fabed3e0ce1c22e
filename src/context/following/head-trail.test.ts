import { describe, expect, it } from 'vitest';
import { toContextId, type ContextId, type TurnId } from '../../base/brand.ts';
import type { Change } from '../../engine/batch.ts';
import type { HeadRow, TurnRow } from '../../engine/rows.ts';
import { HeadTrail, LOOK } from './follow-verbs.ts';

const CONTEXT = 1n as ContextId;
const row = (id: bigint, parent: bigint, context = 1n): TurnRow =>
  ({ id, parent, context }) as TurnRow;
const change = (part: Partial<Change>): Change =>
  ({ turns: [], sealed: [], opened: [], removedContexts: [], ...part }) as Change;

function takeAll(trail: HeadTrail): (TurnId | typeof LOOK)[] {
  const steps: (TurnId | typeof LOOK)[] = [];
  for (let step = trail.take(); step !== undefined; step = trail.take()) steps.push(step);
  return steps;
}

describe('HeadTrail', () => {
  it('keeps one entry for a head that grows', () => {
    const trail = new HeadTrail(CONTEXT);
    expect(trail.note(change({ turns: [row(5n, 4n), row(6n, 5n)] }))).toBe(true);
    trail.note(change({ sealed: [row(7n, 6n)] }));
    expect(takeAll(trail)).toEqual([7n]);
    expect(takeAll(trail)).toEqual([]);
  });

  it('keeps every jump to another branch', () => {
    const trail = new HeadTrail(CONTEXT);
    trail.note(change({ turns: [row(6n, 5n)] }));
    trail.note(change({ turns: [row(7n, 3n)] }));
    trail.note(change({ turns: [row(8n, 6n), row(9n, 8n)] }));
    expect(takeAll(trail)).toEqual([6n, 7n, 9n]);
  });

  it('is deaf to other contexts and to what was a head before', () => {
    const trail = new HeadTrail(CONTEXT);
    expect(trail.note(change({ turns: [row(6n, 5n, 2n)] }))).toBe(false);
    trail.note(change({ turns: [row(8n, 7n)] }));
    expect(trail.note(change({ turns: [row(7n, 6n)] }))).toBe(false);
    expect(takeAll(trail)).toEqual([8n]);
  });

  it('forgets the oldest jumps of a reader that never comes', () => {
    const trail = new HeadTrail(CONTEXT);
    for (let id = 1n; id <= 10_050n; id += 1n) trail.note(change({ turns: [row(id, 0n)] }));
    expect(takeAll(trail).length).toBe(10_000);
  });

  it('looks where a moved head is, in the order of what it heard', () => {
    const trail = new HeadTrail(CONTEXT);
    trail.note(change({ turns: [row(6n, 5n)] }));
    expect(trail.note(change({ moves: [CONTEXT] }))).toBe(true);
    trail.note(change({ moves: [CONTEXT] }));
    expect(trail.note(change({ moves: [toContextId(2)] }))).toBe(false);
    trail.note(change({ moves: [CONTEXT], turns: [row(7n, 3n)] }));
    expect(takeAll(trail)).toEqual([6n, LOOK, 7n]);
  });

  it('takes a look for all that was heard before it', () => {
    const trail = new HeadTrail(CONTEXT);
    trail.note(change({ turns: [row(6n, 5n)] }));
    trail.beginLook();
    trail.note(change({ turns: [row(7n, 6n)] }));
    trail.note(change({ turns: [row(8n, 2n)] }));
    trail.endLook({ head: 7n, headDepth: 6, openTurn: 0n } as HeadRow);
    expect(takeAll(trail)).toEqual([8n]);
    trail.endLook(undefined);
    expect(trail.removed).toBe(true);
  });

  it('tells of an opened turn once, and of the removal', () => {
    const trail = new HeadTrail(CONTEXT);
    expect(trail.note(change({ opened: [row(6n, 5n)] }))).toBe(true);
    expect([trail.takeOpened(), trail.takeOpened()]).toEqual([6n, 0n]);
    expect(trail.removed).toBe(false);
    expect(trail.note(change({ removedContexts: [CONTEXT] }))).toBe(true);
    expect(trail.removed).toBe(true);
  });
});
