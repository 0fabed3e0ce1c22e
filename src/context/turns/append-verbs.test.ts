import { describe, expect, it } from 'vitest';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { encodePayload } from '../payloads/codecs.ts';
import { planAppend } from './append-verbs.ts';
import { planAbort, readTurnNote } from '../streams/plan-seal.ts';

const CONTEXT = 3n as ContextId;
const turn = (payload: unknown) => {
  const rules = { maxPayloadBytes: 100 };
  const header = { type: 'note', version: 2, fsRoot: undefined };
  return { ...header, payload: encodePayload(payload, undefined, rules) };
};

describe('planAppend', () => {
  it('puts each payload once and chains the turns', () => {
    const placement = { parent: 4n as TurnId, expectedHead: 5n as TurnId };
    const batch = planAppend(CONTEXT, [turn('a'), turn('b'), turn('a')], {
      ...placement,
      key: 'k',
    });
    expect(batch.blobs?.length).toBe(2);
    expect(batch.idempotency).toEqual({ context: CONTEXT, key: 'k' });
    const [first, ...others] = batch.turns ?? [];
    expect(first).toMatchObject({
      context: CONTEXT,
      ...placement,
      version: 2,
      encoding: 2,
      size: 3,
    });
    expect(others.length).toBe(2);
    for (const other of others) expect(other.parent ?? other.expectedHead).toBeUndefined();
  });

  it('says nothing that was not said', () => {
    const batch = planAppend(CONTEXT, [turn(1)], { key: undefined });
    expect(Object.keys(batch)).toEqual(['blobs', 'turns']);
    expect(batch.turns?.[0]).not.toHaveProperty('parent');
  });
});

describe('planAbort', () => {
  it('keeps the reason in the same batch', () => {
    const batch = planAbort(6n as TurnId, 'user "stopped" it');
    expect(batch.seals).toEqual([{ turn: 6n, outcome: 'aborted' }]);
    expect(batch.docs?.map(({ name }) => name)).toEqual(['turn-notes/6.json']);
    expect(readTurnNote('a', batch.docs?.[0]?.content ?? '')).toBe('user "stopped" it');
  });
});
