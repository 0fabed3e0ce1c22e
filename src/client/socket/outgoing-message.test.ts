import { describe, expect, it } from 'vitest';
import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import type { Batch } from '../../engine/batch.ts';
import { turnOf } from '../../testing/engine-suite/fixture.ts';
import { toAppend, toCommitted } from './outgoing-message.ts';

const CONTEXT = toContextId(7);

function batchOf(given: Parameters<typeof turnOf>[2] = {}, rest: Partial<Batch> = {}): Batch {
  const { blob, turn } = turnOf(CONTEXT, 'hello', given);
  return { blobs: [blob], turns: [turn], ...rest };
}

describe('a batch', () => {
  it('of one turn with its payload is a message of its own', () => {
    const idempotency = { context: CONTEXT, key: 'größe' };
    const append = toAppend(batchOf({ parent: toTurnId(3) }, { idempotency }));
    expect(append).toMatchObject({ context: 7n, parent: 3n, wantRow: true, expectHead: false });
    expect(Buffer.from(append?.key ?? []).toString()).toBe('größe');
    expect(append?.turn).toMatchObject({ type: 'test.note', version: 1, rawLength: 5 });
    expect(toAppend(batchOf())).toMatchObject({ parent: NO_TURN, key: undefined });
  });

  it('that says anything more is not', () => {
    const { blob, turn } = turnOf(CONTEXT, 'other');
    const others: readonly Batch[] = [
      {},
      { turns: [turn] },
      { blobs: [blob] },
      { blobs: [blob], turns: [turn, turn] },
      { blobs: [blob, blob], turns: [turn] },
      { blobs: [turnOf(CONTEXT, 'x').blob], turns: [turn] },
      { blobs: [{ ...blob, sha256: '0' }], turns: [turn] },
      batchOf({ parent: NO_TURN }),
      batchOf({ expectedHead: NO_TURN }),
      batchOf({ fsRoot: blob.hash }),
      batchOf({ size: 4 }),
      batchOf({ type: '' }),
      batchOf({ type: 'x'.repeat(1024) }),
      batchOf({}, { idempotency: { context: toContextId(8), key: 'k' } }),
      batchOf({}, { idempotency: { context: CONTEXT, key: '' } }),
      batchOf({}, { docs: [{ name: 'a.json', content: '1' }] }),
      { ...batchOf(), turns: [{ ...turn, context: { created: 0 } }] },
    ];
    for (const batch of others) expect(toAppend(batch)).toBeUndefined();
  });
});

it('gives what a commit gives', () => {
  const { blob } = turnOf(CONTEXT, 'hello');
  const about = { depth: 4, type: 't', version: 2, encoding: 3, size: 5, createdAt: 9 };
  const ack = { ...about, context: 7n, turn: 6n, parent: 5n, hash: blob.hash, turnFlags: 8 };
  const committed = toCommitted({ ...ack, seq: 11, replayed: true });
  expect(committed).toMatchObject({ seq: 11, replayed: true, docs: [], opened: [] });
  expect(committed.turns).toEqual([
    { ...about, id: 6n, context: 7n, parent: 5n, payload: blob.hash, flags: 8 },
  ]);
});
