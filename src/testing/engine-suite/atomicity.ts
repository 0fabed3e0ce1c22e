import { describe, expect } from 'vitest';

import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { Batch } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendLines,
  blobOf,
  createContext,
  failure,
  listen,
  openEngine,
  openTurn,
  patchTurn,
  putDoc,
  turnOf,
  writeDelta,
  engineCases,
} from './fixture.ts';
import { readAll } from './read-all.ts';

const [FIRST, STREAMING] = [toContextId(1), toContextId(2)];
const [SEALED, OPEN] = [toTurnId(1), toTurnId(2)];
const FRESH = blobOf('put by the batch');
const STORED = blobOf('stored');
const PATCHED = blobOf('patched');
const MISSING = blobOf('never put');
const SEAL = { turn: OPEN, outcome: 'complete', payload: FRESH.hash, size: 16 } as const;
const PATCH = { turn: SEALED, tombstone: false, encoding: 3, payload: STORED.hash, size: 6 };

/** Writes one context with a turn and a patch, one with an open turn, one log, one document. */
async function fill(engine: Engine): Promise<void> {
  await createContext(engine, { meta: { title: 'first', labels: ['a'] } });
  await append(engine, FIRST, 'stored');
  await createContext(engine);
  await openTurn(engine, STREAMING);
  await writeDelta(engine, OPEN, 0, 'so far');
  await patchTurn(engine, SEALED, 'patched');
  await appendLines(engine, 'logs/log', '1');
  await putDoc(engine, 'doc', '1');
}

/** Changes something in every list of a batch. Each failing case adds one change that must be refused. */
const EVERY_LIST: Required<Omit<Batch, 'idempotency'>> = {
  blobs: [FRESH],
  contexts: [{ do: 'create' }, { do: 'describe', context: FIRST, meta: { title: 'described' } }],
  turns: [turnOf(FIRST, 'stored').turn, turnOf({ created: 0 }, 'stored').turn],
  opens: [{ context: FIRST, type: 't', version: 1, encoding: 3 }],
  deltas: [{ turn: OPEN, offset: 6, bytes: new Uint8Array([33]) }],
  seals: [SEAL],
  patches: [PATCH],
  fsRoots: [{ turn: SEALED, root: STORED.hash }],
  logs: [
    { do: 'append', name: 'logs/log', lines: ['2'] },
    { do: 'append', name: 'logs/log-2', lines: ['1'] },
  ],
  docs: [
    { name: 'doc', content: '2' },
    { name: 'doc-2', content: '1' },
  ],
};

const FAILURES: readonly (readonly [string, ErrorCode, Batch])[] = [
  ['a fork of nothing', 'NOT_FOUND', { contexts: [{ do: 'create', base: toTurnId(99) }] }],
  ['a fork of an open turn', 'NOT_FOUND', { contexts: [{ do: 'create', base: OPEN }] }],
  [
    'a missing context described',
    'NOT_FOUND',
    { contexts: [{ do: 'describe', context: toContextId(99), meta: {} }] },
  ],
  [
    'a missing context removed',
    'NOT_FOUND',
    { contexts: [{ do: 'remove', context: toContextId(99) }] },
  ],
  [
    'a turn for a missing context',
    'NOT_FOUND',
    { turns: [turnOf(toContextId(99), 'stored').turn] },
  ],
  ['a turn for no creation', 'INVALID', { turns: [turnOf({ created: 7 }, 'stored').turn] }],
  [
    'a turn with a missing parent',
    'NOT_FOUND',
    { turns: [turnOf(FIRST, 'stored', { parent: toTurnId(99) }).turn] },
  ],
  [
    'a turn with an open parent',
    'NOT_FOUND',
    { turns: [turnOf(FIRST, 'stored', { parent: OPEN }).turn] },
  ],
  ['a turn without payload', 'NOT_FOUND', { turns: [turnOf(FIRST, 'never put').turn] }],
  [
    'a turn at another head',
    'HEAD_MOVED',
    { turns: [turnOf(FIRST, 'stored', { expectedHead: NO_TURN }).turn] },
  ],
  ['a turn beside an open one', 'LOCKED', { turns: [turnOf(STREAMING, 'stored').turn] }],
  [
    'a second open turn',
    'LOCKED',
    { opens: [{ context: STREAMING, type: 't', version: 1, encoding: 3 }] },
  ],
  [
    'a delta for a missing turn',
    'NOT_FOUND',
    { deltas: [{ turn: toTurnId(99), offset: 0, bytes: STORED.bytes }] },
  ],
  [
    'a delta for a sealed turn',
    'INVALID',
    { deltas: [{ turn: SEALED, offset: 0, bytes: STORED.bytes }] },
  ],
  ['a delta after a gap', 'INVALID', { deltas: [{ turn: OPEN, offset: 90, bytes: STORED.bytes }] }],
  [
    'a delta of other bytes',
    'INVALID',
    { deltas: [{ turn: OPEN, offset: 1, bytes: STORED.bytes }] },
  ],
  ['a seal of a missing turn', 'NOT_FOUND', { seals: [{ ...SEAL, turn: toTurnId(99) }] }],
  [
    'a seal of a sealed turn',
    'INVALID',
    { seals: [{ ...SEAL, turn: SEALED, payload: PATCHED.hash }] },
  ],
  ['a seal without payload', 'NOT_FOUND', { seals: [{ ...SEAL, payload: MISSING.hash }] }],
  ['a patch on a missing turn', 'NOT_FOUND', { patches: [{ ...PATCH, turn: toTurnId(99) }] }],
  ['a patch without payload', 'NOT_FOUND', { patches: [{ ...PATCH, payload: MISSING.hash }] }],
  ['a patch after another', 'HEAD_MOVED', { patches: [{ ...PATCH, expectedSeq: 0 }] }],
  [
    'a file-system root of a missing turn',
    'NOT_FOUND',
    { fsRoots: [{ turn: toTurnId(99), root: STORED.hash }] },
  ],
  [
    'a file-system root without tree',
    'NOT_FOUND',
    { fsRoots: [{ turn: SEALED, root: MISSING.hash }] },
  ],
  [
    'a turn whose file-system root is missing',
    'NOT_FOUND',
    { turns: [turnOf(FIRST, 'stored', { fsRoot: MISSING.hash }).turn] },
  ],
  [
    'a line that is not JSON',
    'INVALID',
    { logs: [{ do: 'append', name: 'logs/log', lines: ['3', 'x'] }] },
  ],
  ['a log with a bad name', 'INVALID', { logs: [{ do: 'append', name: '../log', lines: ['3'] }] }],
  [
    'a log of another length',
    'HEAD_MOVED',
    { logs: [{ do: 'append', name: 'logs/log', lines: ['3'], expectedLines: 9 }] },
  ],
  ['a document that is not JSON', 'INVALID', { docs: [{ name: 'doc', content: 'x' }] }],
  ['a document with a bad name', 'INVALID', { docs: [{ name: 'blobs/doc', content: '1' }] }],
  [
    'a document of another version',
    'HEAD_MOVED',
    { docs: [{ name: 'doc', content: '3', expectedVersion: 9 }] },
  ],
];

export function atomicitySuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('batches', () => {
    it('makes every list true at once', async ({ engine }) => {
      await fill(engine);
      const committed = await engine.commit(EVERY_LIST);
      expect(committed).toMatchObject({
        replayed: false,
        contexts: [
          { id: 3n, head: 4n },
          { id: FIRST, head: 3n, openTurn: 5n, meta: { title: 'described' } },
        ],
        turns: [
          { id: 3n, parent: SEALED, context: FIRST },
          { id: 4n, parent: NO_TURN, context: 3n },
        ],
        opened: [{ id: 5n, parent: 3n }],
        sealed: [{ id: OPEN, payload: FRESH.hash }],
        patches: [{ seq: 2, turn: SEALED }],
        fsRoots: [{ seq: 3, turn: SEALED, root: STORED.hash }],
        logs: [
          { name: 'logs/log', lines: 2 },
          { name: 'logs/log-2', lines: 1 },
        ],
        docs: [
          { name: 'doc', version: 2 },
          { name: 'doc-2', version: 1 },
        ],
      });
    });

    it.each(FAILURES)('stores nothing of a batch with %s', async (_, code, faulty) => {
      const engine = await openEngine(target);
      await fill(engine);
      const before = await readAll(engine);
      const heard = listen(engine);
      await failure(engine.commit(faulty), code);
      await failure(engine.commit(mix(faulty, EVERY_LIST)), code);
      await expect(engine.commit(mix(EVERY_LIST, faulty))).rejects.toThrow(QuipuError);
      expect(await readAll(engine)).toEqual(before);
      expect(await engine.hasBlob(FRESH.hash)).toBe(false);
      expect(heard).toEqual([]);
      await engine.commit(EVERY_LIST);
    });

    it('takes a batch that changes nothing', async ({ engine }) => {
      await fill(engine);
      const before = await readAll(engine);
      const nothing = {
        replayed: false,
        contexts: [],
        turns: [],
        opened: [],
        sealed: [],
        patches: [],
        fsRoots: [],
        logs: [],
        docs: [],
      };
      expect(await engine.commit({})).toMatchObject(nothing);
      expect(await engine.commit({ blobs: [STORED] })).toMatchObject(nothing);
      const retry = { turn: OPEN, offset: 0, bytes: new TextEncoder().encode('so') };
      expect(await engine.commit({ deltas: [retry] })).toMatchObject(nothing);
      expect(await readAll(engine)).toEqual(before);
    });
  });
}

/** Returns one batch with the changes of both, in each list those of `first` before those of `second`. */
function mix(first: Batch, second: Batch): Batch {
  const mixed: Record<string, readonly unknown[]> = {};
  for (const [list, changes] of [...Object.entries(first), ...Object.entries(second)]) {
    mixed[list] = [...(mixed[list] ?? []), ...(changes as readonly unknown[])];
  }
  return mixed as Batch;
}
