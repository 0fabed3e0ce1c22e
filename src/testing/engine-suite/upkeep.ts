import { inspect } from 'node:util';
import { describe, expect } from 'vitest';

import { toTurnId } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import { NO_HASH } from '../../format/patch-record.ts';
import { describeWhen } from './describe-when.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  appendAll,
  appendLines,
  blobOf,
  createContext,
  failure,
  openEngine,
  openTurn,
  patchTurn,
  present,
  readBytes,
  sealTurn,
  engineCases,
} from './fixture.ts';
import { earsSuite } from './upkeep-ears.ts';
import { Aging, Ears, flatten, held, inOne, orphanTurns, put, sweep } from './upkeep-fixture.ts';
import { sweepSuite } from './upkeep-sweep.ts';

// Tests of a collection with a given plan. The code above the engine decides what is alive, so the tests say it by
// hand.

export function upkeepSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('upkeep', () => {
    it('erases a blob at once, whatever its age, and takes the same bytes again later', async ({
      engine,
    }) => {
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['secret', 'other']);
      const { hash } = blobOf('secret');
      expect(await readBytes(engine, hash)).toBeDefined();
      await engine.upkeep.eraseBlob(hash);
      expect(await held(engine, 'secret', 'other')).toEqual(['other']);
      expect(await engine.statBlob(hash)).toBeUndefined();
      await failure(flatten(toPages(engine.readBlob(hash))), 'NOT_FOUND');
      expect((await engine.getTurn(toTurnId(1)))?.payload).toBe(NO_HASH);
      expect(await engine.upkeep.check({ repair: false })).toMatchObject({ problems: [], more: 0 });
      await engine.reindex();
      expect(await held(engine, 'secret', 'other')).toEqual(['other']);
      await put(engine, 'secret');
      expect(await held(engine, 'secret', 'other')).toEqual(['secret', 'other']);
      expect((await engine.getTurn(toTurnId(1)))?.payload).toBe(hash);
    });

    it('shows no hash of what was erased in any row, and all others', async ({ engine }) => {
      const { id } = await createContext(engine);
      const [first, second] = [toTurnId(1), toTurnId(2)];
      await appendAll(engine, id, ['secret', 'other']);
      await patchTurn(engine, second, 'secret too');
      await patchTurn(engine, second, 'shown');
      await put(engine, 'secret tree', 'tree');
      const root = (turn: TurnId, text: string) => ({ turn, root: blobOf(text).hash });
      await engine.commit({ fsRoots: [root(first, 'secret tree'), root(second, 'tree')] });
      const secrets = ['secret', 'secret too', 'secret tree'].map((text) => blobOf(text).hash);
      for (const hash of secrets) await engine.upkeep.eraseBlob(hash);

      const rows = await rowsOf(engine, id, [first, second]);
      const shown = Object.entries(rows).filter(([, got]) =>
        secrets.some((hash) => inspect(got, { depth: null }).includes(hash)),
      );
      expect(shown).toEqual([]);
      const [secret, other] = [NO_HASH, blobOf('other').hash];
      expect(rows.walkBack).toMatchObject([{ payload: other }, { payload: secret }]);
      expect(rows.getMany.turns).toMatchObject([{ payload: secret }, { payload: other }]);
      const patches = [{ payload: secret }, { payload: blobOf('shown').hash }];
      expect(rows.getMany.patches).toMatchObject(patches);
      expect(rows.getPatches).toMatchObject(patches);
      expect(rows.getFsRoots).toMatchObject([{ root: secret }, { root: blobOf('tree').hash }]);
      for (const name of ['getTurn', 'ancestorAt', 'commonAncestor'] as const) {
        expect(rows[name]).toMatchObject({ id: first, payload: secret });
      }
    });

    it('goes on writing behind what was there', async ({ engine }) => {
      await put(engine, 'secret', 'a', 'b');
      await engine.upkeep.eraseBlob(blobOf('secret').hash);
      await put(engine, 'c', 'd');
      expect(await held(engine, 'secret', 'a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c', 'd']);
      await engine.checkpoint();
      await engine.reindex();
      expect(await held(engine, 'secret', 'a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c', 'd']);
    });

    it('erases a large blob and leaves what shares bytes with it', async ({ engine }) => {
      const bytes = new Uint8Array(900_000).map((_, at) => (at * at * 17) >>> 5);
      const longer = new Uint8Array([...bytes, ...bytes.subarray(0, 300_000)]);
      const one = await engine.putBlob({ chunks: inOne(bytes) });
      const two = await engine.putBlob({ chunks: inOne(longer) });
      await engine.upkeep.eraseBlob(one.hash);
      expect(await engine.hasBlob(one.hash)).toBe(false);
      expect(Buffer.compare(present(await engine.getBlob(two.hash)), longer)).toBe(0);
    });

    it('erases lines of a log where they are', async ({ engine }) => {
      await appendLines(engine, 'logs/a', '{"text":"ünsafe"}', '{"n":1}', '{"text":"secret"}');
      await appendLines(engine, 'logs/a', '{"text":"later"}');
      const before = await engine.getLog('logs/a');
      await engine.upkeep.eraseLines('logs/a', [
        { line: 0, text: '{"text":""}' },
        { line: 3, text: '{}' },
      ]);
      const lines = ['{"text":""}       ', '{"n":1}', '{"text":"secret"}', '{}              '];
      expect(await engine.readLog('logs/a', 0, 10)).toEqual(lines);
      expect(await engine.getLog('logs/a')).toEqual(before);
      await appendLines(engine, 'logs/a', '5');
      expect(await engine.readLog('logs/a', 2, 10)).toEqual([...lines.slice(2), '5']);
      expect(await engine.upkeep.check({ repair: false })).toMatchObject({ problems: [], more: 0 });
    });

    it('refuses lines that do not fit, and changes none', async ({ engine }) => {
      await appendLines(engine, 'logs/a', '{"a":1}', '{"b":2}');
      const erase = (line: number, text: string) =>
        engine.upkeep.eraseLines('logs/a', [
          { line: 0, text: '{}' },
          { line, text },
        ]);
      await failure(erase(1, '{"b":22}'), 'INVALID');
      await failure(erase(1, '{"b"'), 'INVALID');
      await failure(erase(2, '1'), 'NOT_FOUND');
      await failure(engine.upkeep.eraseLines('b', [{ line: 0, text: '1' }]), 'NOT_FOUND');
      expect(await engine.readLog('logs/a', 0, 10)).toEqual(['{"a":1}', '{"b":2}']);
    });
  });
  describeWhen(target.capabilities.collection, 'upkeep that collects', () => {
    it('shows sealed turns newest first, patches and blobs', async () => {
      const aging = new Aging();
      const engine = await openEngine(target, aging);
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['a', 'b']);
      const open = await openTurn(engine, id);
      await patchTurn(engine, toTurnId(1), 'a2');
      const collection = await new Ears().start(engine);
      expect(collection.firstNewTurn).toBe(4n);
      const edge = (turn: number, parent: number, text: string): object => ({
        id: toTurnId(turn),
        parent: toTurnId(parent, true),
        payload: blobOf(text).hash,
      });
      const turns = await flatten(collection.turns());
      expect(turns).toMatchObject([edge(2, 1, 'b'), edge(1, 0, 'a')]);
      expect(await flatten(collection.patches())).toMatchObject([
        { turn: toTurnId(1), payload: blobOf('a2').hash },
      ]);
      const blobs = await flatten(collection.blobs());
      const hashes = ['a', 'b', 'a2'].map((text) => blobOf(text).hash);
      expect(blobs.map(({ hash }) => hash).toSorted()).toEqual(hashes.toSorted());
      for (const { storedBytes } of blobs) expect(storedBytes).toBeGreaterThan(0);
      await collection.end();
      await sealTurn(engine, open.id, 'c');
    });

    it('runs one collection at a time', async ({ engine }) => {
      const collection = await new Ears().start(engine);
      await failure(new Ears().start(engine), 'LOCKED');
      await collection.end();
      await (await new Ears().start(engine)).end();
    });

    it('lists the chunks of a blob that is stored as chunks', async ({ engine }) => {
      const bytes = new Uint8Array(1_000_000).map((_, at) => (at * at * 31) >>> 7);
      const { hash } = await engine.putBlob({ chunks: inOne(bytes) });
      const collection = await new Ears().start(engine);
      const all = await flatten(collection.blobs());
      const there = new Set(all.map((entry) => entry.hash));
      const list = present(all.find((entry) => entry.hash === hash));
      if (list.chunked) {
        const chunks = await collection.chunksOf(hash);
        expect(chunks.length).toBeGreaterThan(1);
        expect(chunks.filter((chunk) => !there.has(chunk))).toEqual([]);
      }
      await collection.end();
    });

    sweepSuite(target);
    earsSuite(target);
    it('does not erase beside a collection', async ({ engine }) => {
      await put(engine, 'a');
      const collection = await new Ears().start(engine);
      await failure(engine.upkeep.eraseBlob(blobOf('a').hash), 'LOCKED');
      await collection.end();
      await engine.upkeep.eraseBlob(blobOf('a').hash);
    });

    it('finds nothing wrong with a store that is well, also after a sweep', async () => {
      const aging = new Aging();
      const engine = await openEngine(target, aging);
      await orphanTurns(engine, 'a', 'b', 'c');
      await createContext(engine, { base: toTurnId(1) });
      await patchTurn(engine, toTurnId(1), 'a2');
      await engine.commit({
        logs: [{ do: 'append', name: 'logs/x.jsonl', lines: ['{}', '{}'] }],
        docs: [{ name: 'out/x.json', content: '{}', publish: true }],
      });
      const first = await engine.upkeep.check({ repair: false });
      expect(first).toMatchObject({ problems: [], more: 0, quarantined: [] });
      expect(first.checked).toMatchObject({ turns: 3, patches: 1, blobs: 4 });
      expect(first.checked.bytes).toBeGreaterThan(0);
      await aging.pass(engine);
      const ears = new Ears();
      await sweep(await ears.start(engine), ears, { blobs: ['a', 'a2'], turns: [toTurnId(1)] });
      const after = await engine.upkeep.check({ repair: true });
      expect(after).toMatchObject({ problems: [], more: 0, quarantined: [] });
    });
  });
}

/** Every read that gives rows with hashes. */
async function rowsOf(engine: Engine, context: ContextId, [first, second]: [TurnId, TurnId]) {
  return {
    getTurn: await engine.getTurn(first),
    walkBack: await engine.walkBack(second, 9),
    readLast: await engine.readLast?.(context, 9, 0),
    ancestorAt: await engine.ancestorAt(second, 0),
    commonAncestor: await engine.commonAncestor(first, second),
    getMany: await engine.getMany({ turns: [first, second], patches: [1, 2] }),
    getPatches: await engine.getPatches([first, second]),
    getFsRoots: await engine.getFsRoots([first, second]),
  };
}

async function* toPages<T>(items: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  for await (const item of items) yield [item];
}
