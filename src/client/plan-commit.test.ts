import { describe, expect, it } from 'vitest';
import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type { Batch, BlobPut, TurnAppend } from '../engine/batch.ts';
import { keyScope, repetitionOf, splitBlobs } from './plan-commit.ts';

const CONTEXT = 1n as ContextId;
const HASH = 'a'.repeat(64) as Hash;
const about = { type: 't', version: 1, encoding: 1 };
const turn: TurnAppend = { context: CONTEXT, ...about, payload: HASH, size: 1 };
const head = { expectedHead: 1n as TurnId };
const blob = (size: number): BlobPut => ({ hash: HASH, bytes: new Uint8Array(size) });
const patch = { turn: 1n as TurnId, tombstone: false, encoding: 1, payload: HASH, size: 1 };
const idempotency = { context: CONTEXT, key: 'k' };

describe('repetitionOf', () => {
  it.each<[string, Batch, string]>([
    ['blobs', { blobs: [blob(1)] }, 'same'],
    ['a delta', { deltas: [{ turn: 1n as TurnId, offset: 0, bytes: new Uint8Array(1) }] }, 'same'],
    [
      'a seal',
      { seals: [{ turn: 1n as TurnId, outcome: 'complete', payload: HASH, size: 1 }] },
      'same',
    ],
    ['turns with a key', { turns: [turn], idempotency }, 'same'],
    [
      'turns with a key and more',
      { turns: [turn], docs: [{ name: 'd', content: '1' }], idempotency },
      'same',
    ],
    ['a turn', { turns: [turn] }, 'once'],
    ['a turn on an expected head', { turns: [{ ...turn, ...head }] }, 'compared'],
    ['a turn that goes on from one', { turns: [{ ...turn, ...head }, turn] }, 'once'],
    ['an open turn', { opens: [{ context: CONTEXT, ...about }] }, 'once'],
    [
      'an open turn on an expected head',
      { opens: [{ context: CONTEXT, ...about, ...head }] },
      'compared',
    ],
    ['a patch', { patches: [patch] }, 'once'],
    ['a patch after another', { patches: [{ ...patch, expectedSeq: 3 }] }, 'compared'],
    ['a document', { docs: [{ name: 'd', content: '1' }] }, 'once'],
    [
      'a branch that is kept',
      { contexts: [{ do: 'create', meta: { name: 'n' } }], turns: [{ ...turn, ...head }] },
      'compared',
    ],
    [
      'a turn that ends as it is',
      { seals: [{ turn: 1n as TurnId, outcome: 'aborted' }] },
      'compared',
    ],
    ['a new document', { docs: [{ name: 'd', content: '1', expectedVersion: 0 }] }, 'compared'],
    ['lines', { logs: [{ do: 'append', name: 'l', lines: ['1'] }] }, 'once'],
    [
      'lines at a place',
      { logs: [{ do: 'append', name: 'l', lines: ['1'], expectedLines: 0 }] },
      'compared',
    ],
    ['a log that goes', { logs: [{ do: 'remove', name: 'l' }] }, 'once'],
    ['a new context', { contexts: [{ do: 'create' }] }, 'once'],
    ['a root', { fsRoots: [{ turn: 1n as TurnId, root: HASH }] }, 'once'],
  ])('of %s', (_, batch, expected) => {
    expect(repetitionOf(batch)).toBe(expected);
  });
});

describe('keyScope', () => {
  it('is the context of turns that come alone', () => {
    expect(keyScope({ turns: [turn, turn], blobs: [blob(1)] })).toBe(CONTEXT);
  });

  it('is none where a key would be refused or would not cover everything', () => {
    expect(keyScope({ blobs: [blob(1)] })).toBeUndefined();
    expect(keyScope({ turns: [turn], idempotency })).toBeUndefined();
    expect(keyScope({ turns: [turn], docs: [{ name: 'd', content: '1' }] })).toBeUndefined();
    expect(keyScope({ turns: [{ ...turn, context: { created: 0 } }] })).toBeUndefined();
    expect(keyScope({ turns: [turn, { ...turn, context: 2n as ContextId }] })).toBeUndefined();
  });
});

describe('splitBlobs', () => {
  const MIB = 1024 * 1024;

  it('leaves what is small as it is', () => {
    const batch = { blobs: [blob(MIB), blob(MIB)], turns: [turn] };
    expect(splitBlobs(batch)).toEqual({ before: [], batch });
    const one = { blobs: [blob(20 * MIB)] };
    expect(splitBlobs(one)).toEqual({ before: [], batch: one });
  });

  it('puts what is large first, in groups', () => {
    const sizes = [5, 5, 20, 1, 1];
    const { before, batch } = splitBlobs({ blobs: sizes.map((n) => blob(n * MIB)), turns: [turn] });
    expect(batch).toEqual({ turns: [turn] });
    const groups = before.map((blobs) => blobs.map(({ bytes }) => bytes.length / MIB));
    expect(groups).toEqual([[5], [5], [20], [1, 1]]);
  });
});
