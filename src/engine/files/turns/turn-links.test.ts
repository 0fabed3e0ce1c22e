import { describe, expect, it } from 'vitest';
import type { ContextId, TurnId } from '../../../base/brand.ts';
import { jumpsToGrandJump, type TurnRecord } from '../../../format/turn-record.ts';
import { TurnLinks } from './turns.ts';

/** A chain of turns with ids from 1, as appending makes it. */
function chain(length: number): TurnRecord[] {
  const turns: TurnRecord[] = [];
  for (let depth = 0; depth < length; depth += 1) {
    const parent = turns[depth - 1];
    const grand = turns[Number(parent?.jump ?? 0n) - 1];
    const far = parent !== undefined && grand !== undefined && jumpsToGrandJump(parent.depth);
    const jump = far ? grand.jump : (parent?.id ?? 0n);
    turns.push({
      id: BigInt(depth + 1) as TurnId,
      parent: BigInt(depth) as TurnId,
      depth,
      encoding: 0,
      typeTag: '0'.repeat(16),
      payload: undefined,
      flags: 0,
      size: 0,
      createdAt: 0,
      context: 1n as ContextId,
      jump: jump as TurnId,
      sideJump: (parent?.jump ?? 0n) as TurnId,
      idempotency: undefined,
    });
  }
  return turns;
}

function linksOf(turns: readonly TurnRecord[]): TurnLinks {
  const links = new TurnLinks(1000, 3);
  for (const turn of turns) links.add(turn);
  return links;
}

describe('links between turns', () => {
  it('are right in a chain as it was appended', () => {
    const turns = chain(300);
    const links = linksOf(turns);
    for (const turn of turns) expect(links.problemOf(turn)).toBeUndefined();
    expect(links.newestIn(1)).toBe(300);
    expect(links.newestIn(2)).toBe(0);
  });

  it('tell a wrong depth, parent, jump and side jump', () => {
    const turns = chain(100);
    const links = linksOf(turns);
    const turn = turns[70] as TurnRecord;
    const none = 0n as TurnId;
    expect(links.problemOf({ ...turn, depth: 3 })).toMatch(/depth/);
    expect(links.problemOf({ ...turn, parent: 80n as TurnId })).toMatch(/not older/);
    expect(links.problemOf({ ...turn, jump: none })).toMatch(/the jump/);
    expect(links.problemOf({ ...turn, sideJump: none })).toMatch(/side jump/);
    expect(links.problemOf({ ...turn, parent: none })).toMatch(/no parent/);
  });

  it('say nothing of a turn whose parent is damaged', () => {
    const turns = chain(10);
    const links = linksOf(turns.filter((turn) => turn.id !== 5n));
    expect(links.isIntact(5)).toBe(false);
    expect(links.problemOf({ ...(turns[5] as TurnRecord), depth: 99 })).toBeUndefined();
  });
});
