import { expect } from 'vitest';

import { NO_TURN, toContextId, toTurnId } from '../../base/brand.ts';
import type { ContextId, Hash } from '../../base/brand.ts';
import { sha256Hex } from '../../base/hash.ts';
import type {
  AdoptedContext,
  Adoption,
  DocEntry,
  PatchEntry,
  Sha256Name,
  TurnEntry,
} from '../../engine/adoption.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ContextRow } from '../../engine/rows.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { fillForCopy, keyOf } from './adoption-fixture.ts';
import { describeWhen } from './describe-when.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendAll,
  appendBatch,
  blobOf,
  createContext,
  failure,
  listen,
  openEngine,
  openTurn,
  present,
  putDoc,
  reopenEngine,
  engineCases,
} from './fixture.ts';
import { readAll } from './read-all.ts';
import { Ears, flatten } from './upkeep-fixture.ts';

const ALL = 1000;

export function adoptionSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describeWhen(target.capabilities.adoption, 'adoption', () => {
    it('makes a store the copy of another one, with ids, numbers, versions and times', async () => {
      const source = await openEngine(target, { clock: () => 5000 });
      await fillForCopy(source);
      const copy = await openEngine(target, { clock: () => 9000 });
      await putBlobs(source, copy);
      await copy.upkeep.adopt(await everythingOf(source));
      expect(await recordsOf(copy)).toEqual(await recordsOf(source));
      expect(await contextsOf(copy)).toEqual(await contextsOf(source));
      expect(await copy.tips()).toEqual(await source.tips());
      expect((await copy.upkeep.check({ repair: false })).problems).toEqual([]);
      const found = await copy.findBySha256(sha256Hex(blobOf('named').bytes));
      expect(found).toBe(blobOf('named').hash);

      // Retries find the turns of their keys, and a key whose turn is gone begins a new life.
      const again = { ...appendBatch(toContextId(2), 'with a key'), idempotency: keyOf(2n, 'k') };
      expect(await copy.commit(again)).toMatchObject({ replayed: true, turns: [{ id: 4n }] });
      expect(await source.commit(again)).toMatchObject({ replayed: true, turns: [{ id: 4n }] });
      const other = { ...appendBatch(toContextId(2), 'other'), idempotency: keyOf(2n, 'k') };
      await failure(copy.commit(other), 'IDEMPOTENCY_CONFLICT');
      const fresh = await append(copy, toContextId(2), 'and on');
      expect(fresh).toMatchObject({ parent: 5n, depth: 2, createdAt: 9000 });
    });

    it('keeps what it took over when the store is opened again', async () => {
      const source = await openEngine(target);
      await fillForCopy(source);
      const copy = await openEngine(target);
      await putBlobs(source, copy);
      await copy.upkeep.adopt(await everythingOf(source));
      if (target.capabilities.reopen !== true) return;
      const again = await reopenEngine(target, copy);
      expect(await recordsOf(again)).toEqual(await recordsOf(source));
      expect(await contextsOf(again)).toEqual(await contextsOf(source));
      if (target.capabilities.reindex !== true) return;
      await again.reindex();
      expect(await recordsOf(again)).toEqual(await recordsOf(source));
      expect(await contextsOf(again)).toEqual(await contextsOf(source));
      expect((await again.upkeep.check({ repair: false })).problems).toEqual([]);
    });

    it('takes a few at a time, and goes on where it is', async () => {
      const source = await openEngine(target);
      await fillForCopy(source);
      const copy = await openEngine(target);
      await putBlobs(source, copy);
      const { contexts = [], turns = [], patches = [], ...rest } = await everythingOf(source);
      const some = { contexts: contexts.slice(0, 2), turns: turns.slice(0, 3) };
      await copy.upkeep.adopt({ ...rest, ...some });
      expect(await copy.tips()).toMatchObject({ turn: 3n, context: 2n });
      const page = await source.upkeep.records.turns(toTurnId(4), 1);
      expect(page.map(({ id }) => id)).toEqual([4n]);
      for (const entry of turns.slice(3)) await copy.upkeep.adopt({ turns: [entry] });
      await copy.upkeep.adopt({ contexts: contexts.slice(2), patches });
      expect(await recordsOf(copy)).toEqual(await recordsOf(source));
      expect(await contextsOf(copy)).toEqual(await contextsOf(source));
    });

    it('says again what is known of a context, and leaves its head', async ({ engine }) => {
      const { id, createdAt } = await createContext(engine, { meta: { title: 'old' } });
      const turn = await append(engine, id, 'a');
      const updatedAt = turn.createdAt + 99;
      const said = { id, base: NO_TURN, createdAt, updatedAt, meta: { kind: 'x' } };
      await engine.upkeep.adopt({ contexts: [said] });
      expect(await engine.getContext(id)).toMatchObject({ ...said, head: turn.id });
      expect((await engine.listContexts({ kind: 'x', limit: 9 })).rows).toHaveLength(1);
      await failure(engine.upkeep.adopt({ contexts: [{ ...said, base: turn.id }] }), 'INVALID');
      await engine.upkeep.adopt({ contexts: [{ id, removed: true }] });
      expect(await engine.getContext(id)).toBeUndefined();
      await failure(engine.upkeep.adopt({ contexts: [said] }), 'INVALID');
    });

    it('refuses what does not fit, and then changes nothing', async ({ engine }) => {
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['a', 'b']);
      await putDoc(engine, 'd', '1');
      const b = present((await engine.upkeep.records.turns(toTurnId(2), 1))[0]);
      const before = await readAll(engine);
      const wrong: [string, Adoption][] = wrongOnes(id, b);
      for (const [code, adoption] of wrong) {
        const context = { id: toContextId(2), base: NO_TURN, createdAt: 1, updatedAt: 1, meta: {} };
        const whole = { contexts: [context], ...adoption };
        await failure(engine.upkeep.adopt(whole), code as 'INVALID');
      }
      expect(await readAll(engine)).toEqual(before);
      const open = await openTurn(engine, id);
      const later = entryOf(b, { id: toTurnId(open.id + 1n) });
      await failure(engine.upkeep.adopt({ turns: [later] }), 'LOCKED');
    });

    it('makes room for nothing, and tells nobody of nothing', async ({ engine }) => {
      const heard = listen(engine);
      await engine.upkeep.adopt({});
      await engine.upkeep.adopt({ turns: [], contexts: [], patches: [], docs: [], erased: [] });
      expect(heard).toEqual([]);
      expect(await engine.tips()).toMatchObject({ turn: 0n, context: 0n, patch: 0 });
    });
  });
}

function wrongOnes(id: ContextId, b: TurnEntry): [string, Adoption][] {
  const third = toTurnId(3);
  const missing = blobOf('never put').hash;
  const doc = { row: { name: 'd', version: 1, content: '2' }, published: false };
  const patch = { turn: third, tombstone: false, encoding: 0, payload: missing, size: 0 };
  const on = (turn: bigint): Adoption => ({
    patches: [{ seq: 1, patch: { ...patch, seq: 1, turn: toTurnId(turn), createdAt: 1 } }],
  });
  return [
    ['INVALID', { turns: [b] }],
    ['INVALID', { turns: [entryOf(b, { id: toTurnId(4) })] }],
    ['INVALID', { turns: [entryOf(b, { id: third, depth: 7 })] }],
    ['INVALID', { turns: [entryOf(b, { id: third, flags: TurnFlag.OPEN })] }],
    ['NOT_FOUND', { turns: [entryOf(b, { id: third, parent: toTurnId(9) })] }],
    ['NOT_FOUND', { turns: [entryOf(b, { id: third, payload: missing })] }],
    ['NOT_FOUND', { turns: [entryOf(b, { id: third, context: toContextId(9) })] }],
    ['INVALID', { contexts: [{ id: toContextId(id + 2n), removed: true }] }],
    ['INVALID', { patches: [{ seq: 2, gone: true }] }],
    ['NOT_FOUND', on(9n)],
    ['NOT_FOUND', on(2n)],
    ['INVALID', { docs: [doc] }],
    ['INVALID', { sha256Names: [{ sha256: 'no', hash: missing }] }],
  ];
}

function entryOf(
  entry: TurnEntry,
  change: Partial<(TurnEntry & { gone?: undefined })['row']>,
): TurnEntry {
  if (entry.gone !== undefined) throw new Error('expected a turn that is there');
  const row = { ...entry.row, ...change };
  return { id: row.id, row };
}

async function putBlobs(source: Engine, copy: Engine): Promise<void> {
  const collection = await new Ears().start(source);
  for (const { hash } of await flatten(collection.blobs())) {
    await copy.commit({ blobs: [{ hash, bytes: present(await source.getBlob(hash)) }] });
  }
  await collection.end();
}

async function everythingOf(engine: Engine): Promise<Adoption> {
  const { turns, patches, docs, erased, names } = await recordsOf(engine);
  const contexts = await contextsOf(engine);
  return {
    erased,
    sha256Names: names,
    contexts: contexts.map(({ id, row }): AdoptedContext =>
      row === undefined ? { id, removed: true } : row,
    ),
    turns,
    patches,
    docs,
  };
}

interface AllRecords {
  readonly turns: readonly TurnEntry[];
  readonly patches: readonly PatchEntry[];
  readonly docs: readonly DocEntry[];
  readonly erased: readonly Hash[];
  readonly names: readonly Sha256Name[];
}

async function recordsOf(engine: Engine): Promise<AllRecords> {
  const { records } = engine.upkeep;
  return {
    turns: (await records.turns(toTurnId(1), ALL)).map((entry) =>
      entry.key === undefined ? entry : { ...entry, key: new Uint8Array(entry.key) },
    ),
    patches: await records.patches(1, ALL),
    docs: await records.docs(await engine.listDocs('', ALL)),
    erased: await flatten(records.erased()),
    names: await flatten(records.sha256Names()),
  };
}

async function contextsOf(
  engine: Engine,
): Promise<{ id: ContextId; row: ContextRow | undefined }[]> {
  const { context } = await engine.tips();
  const all: { id: ContextId; row: ContextRow | undefined }[] = [];
  for (let number = 1n; number <= context; number += 1n) {
    const id = toContextId(number);
    const row = await engine.getContext(id);
    all.push({ id, row });
  }
  return all;
}
