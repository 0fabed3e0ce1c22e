import { describe, expect, it } from 'vitest';
import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type { PatchRow, TurnRow } from '../engine/rows.ts';
import { applyPatches } from './turn.ts';

const row = (id: bigint): TurnRow => ({
  id: id as TurnId,
  parent: 0n as TurnId,
  context: 1n as ContextId,
  depth: 0,
  type: 'note',
  version: 1,
  encoding: 2,
  payload: 'own' as Hash,
  size: 3,
  flags: 0,
  createdAt: 0,
});
const patch = (seq: number, turn: bigint, tombstone = false): PatchRow => ({
  seq,
  turn: turn as TurnId,
  tombstone,
  encoding: 3,
  payload: `patch ${seq}` as Hash,
  size: 10 + seq,
  createdAt: 0,
});
const PATCHES = [patch(1, 7n), patch(2, 8n), patch(4, 7n, true), patch(5, 7n)];

function read(as: 'latest' | 'original' | number) {
  return applyPatches([row(7n), row(9n)], PATCHES, as).map(({ payload, size, encoding }) => ({
    payload,
    size,
    encoding,
  }));
}
const OWN = { payload: 'own', size: 3, encoding: 2 };

describe('applyPatches', () => {
  it('shows the newest patch of each turn', () => {
    expect(read('latest')).toEqual([{ payload: 'patch 5', size: 15, encoding: 3 }, OWN]);
  });

  it('shows none of them when asked for the original', () => {
    expect(read('original')).toEqual([OWN, OWN]);
  });

  it('shows the newest up to a sequence number', () => {
    expect(read(0)).toEqual([OWN, OWN]);
    expect(read(1)).toEqual([{ payload: 'patch 1', size: 11, encoding: 3 }, OWN]);
    expect(read(3)).toEqual([{ payload: 'patch 1', size: 11, encoding: 3 }, OWN]);
    expect(read(99)).toEqual(read('latest'));
  });

  it('keeps the hash of what a tombstone hides, and no size', () => {
    expect(read(4)).toEqual([{ ...OWN, size: 0 }, OWN]);
  });
});
