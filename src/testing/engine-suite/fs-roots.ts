import { describe, expect, it, vi } from 'vitest';

import { toContextId, toTurnId } from '../../base/brand.ts';
import type { Hash, TurnId } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { describeWhen } from './describe-when.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  append,
  appendBatch,
  blobOf,
  createContext,
  failure,
  listen,
  openEngine,
  patchTurn,
  present,
  reopenEngine,
  sealTurn,
  turnOf,
} from './fixture.ts';
import { readAll } from './read-all.ts';
import { Ears, flatten, put } from './upkeep-fixture.ts';
import { PATIENCE } from '../patience.ts';

const CONTEXT = toContextId(1);
const [A, B, C] = [blobOf('tree a').hash, blobOf('tree b').hash, blobOf('tree c').hash];

async function start(target: EngineTarget): Promise<Engine> {
  const engine = await openEngine(target);
  await put(engine, 'tree a', 'tree b', 'tree c');
  await createContext(engine);
  return engine;
}

/** Returns the root of a turn, or undefined when it has none. */
async function rootOf(engine: Engine, turn: TurnId): Promise<Hash | undefined> {
  return (await engine.getFsRoots([turn])).at(-1)?.root;
}

export function fsRootSuite(target: EngineTarget): void {
  describe('file-system roots', () => {
    it('come with turns, in one commit', async () => {
      const engine = await start(target);
      const heard = listen(engine);
      const [one, two] = [turnOf(CONTEXT, 'one', { fsRoot: A }), turnOf(CONTEXT, 'two')];
      const batch = { blobs: [one.blob, two.blob], turns: [one.turn, two.turn] };
      const committed = await engine.commit(batch);
      expect(committed.fsRoots).toEqual([{ turn: 1n, root: A, seq: 1 }]);
      expect(committed.patches).toEqual([]);
      const given = committed.turns.map(({ flags }) => flags & ~TurnFlag.CONTINUES);
      expect(given).toEqual([TurnFlag.FS_ROOT, 0]);
      expect(await engine.getTurn(toTurnId(1))).toMatchObject({ flags: TurnFlag.FS_ROOT });
      expect(await engine.getFsRoots([toTurnId(2), toTurnId(1), toTurnId(9)])).toEqual(
        committed.fsRoots,
      );
      await vi.waitFor(
        () => expect(heard).toMatchObject([{ fsRoots: committed.fsRoots }]),
        PATIENCE,
      );
    });

    it('may be put by the same batch, and must be there', async () => {
      const engine = await start(target);
      const fresh = blobOf('fresh tree');
      const { blob, turn } = turnOf(CONTEXT, 'one', { fsRoot: fresh.hash });
      const before = await readAll(engine);
      const error = await failure(engine.commit({ blobs: [blob], turns: [turn] }), 'NOT_FOUND');
      expect(error.data).toEqual({ what: 'fs root tree blob', id: fresh.hash });
      expect(await readAll(engine)).toEqual(before);
      expect(await engine.hasBlob(blob.hash)).toBe(false);
      await engine.commit({ blobs: [blob, fresh], turns: [turn] });
      expect(await rootOf(engine, toTurnId(1))).toBe(fresh.hash);
    });

    it('come with turns that are streamed, and stay when they are sealed', async () => {
      const engine = await start(target);
      const about = { context: CONTEXT, type: 't', version: 1, encoding: 3 };
      const { opened, fsRoots } = await engine.commit({ opens: [{ ...about, fsRoot: A }] });
      const { id } = present(opened[0]);
      expect(fsRoots).toEqual([{ turn: id, root: A, seq: 1 }]);
      expect(await rootOf(engine, id)).toBe(A);
      await engine.commit({ fsRoots: [{ turn: id, root: B }] });
      const sealed = await sealTurn(engine, id, 'text');
      expect(sealed.flags).toBe(TurnFlag.FS_ROOT);
      expect(await sealTurn(engine, id, 'text')).toEqual(sealed);
      expect(await rootOf(engine, id)).toBe(B);
    });

    it('are attached to turns that are there, and the last one counts', async () => {
      const engine = await start(target);
      const [one, two] = [toTurnId(1), toTurnId(2)];
      await append(engine, CONTEXT, 'one', { fsRoot: A });
      await append(engine, CONTEXT, 'two');
      const { fsRoots } = await engine.commit({
        fsRoots: [
          { turn: two, root: A },
          { turn: one, root: B },
          { turn: two, root: C },
        ],
      });
      expect(fsRoots.map(({ seq }) => seq)).toEqual([2, 3, 4]);
      expect(await engine.getFsRoots([two, one, two])).toEqual([fsRoots[1], fsRoots[2]]);
      // The record of a turn never changes.
      expect(await engine.getTurn(two)).toMatchObject({ flags: 0 });
      await engine.commit({ fsRoots: [{ turn: two, root: A }] });
      expect(await engine.getFsRoots([one, two])).toEqual([
        fsRoots[1],
        { turn: two, root: A, seq: 5 },
      ]);
    });

    it('are no patches, and take numbers of their sequence', async () => {
      const engine = await start(target);
      const { id } = await append(engine, CONTEXT, 'one', { fsRoot: A });
      const patch = await patchTurn(engine, id, 'better', { expectedSeq: 0 });
      expect(patch.seq).toBe(2);
      await engine.commit({ fsRoots: [{ turn: id, root: B }] });
      expect(await engine.getPatches([id])).toEqual([patch]);
      expect(await engine.getMany({ patches: [1, 2] })).toMatchObject({ patches: [patch] });
      expect((await engine.tips()).patch).toBe(3);
      const about = { turn: id, tombstone: false, encoding: 3, payload: A, size: 6 };
      const { patches } = await engine.commit({
        fsRoots: [{ turn: id, root: C }],
        patches: [
          { ...about, expectedSeq: 2 },
          { ...about, expectedSeq: 4 },
        ],
      });
      expect(patches.map(({ seq }) => seq)).toEqual([4, 5]);
      await failure(patchTurn(engine, id, 'late', { expectedSeq: 6 }), 'HEAD_MOVED');
      expect(await rootOf(engine, id)).toBe(C);
    });

    const idempotency = { context: CONTEXT, key: 'k' };

    it('are part of what a key stands for', async () => {
      const engine = await start(target);
      const keyed = (fsRoot?: Hash) => ({
        idempotency,
        ...appendBatch(CONTEXT, 'one', fsRoot === undefined ? {} : { fsRoot }),
      });
      const first = await engine.commit(keyed(A));
      const again = await engine.commit(keyed(A));
      expect(again).toMatchObject({ replayed: true, turns: first.turns, fsRoots: [] });
      await failure(engine.commit(keyed(B)), 'IDEMPOTENCY_CONFLICT');
      await failure(engine.commit(keyed()), 'IDEMPOTENCY_CONFLICT');
      // A root that was attached later does not change the request.
      await engine.commit({ fsRoots: [{ turn: toTurnId(1), root: B }] });
      expect(await engine.commit(keyed(A))).toMatchObject({ replayed: true });
      await failure(engine.commit(keyed(B)), 'IDEMPOTENCY_CONFLICT');
    });

    it('were not part of a request when they were attached later', async () => {
      const engine = await start(target);
      const plain = { idempotency, ...appendBatch(CONTEXT, 'one') };
      await engine.commit(plain);
      await engine.commit({ fsRoots: [{ turn: toTurnId(1), root: A }] });
      expect(await engine.commit(plain)).toMatchObject({ replayed: true });
      const rooted = { idempotency, ...appendBatch(CONTEXT, 'one', { fsRoot: A }) };
      await failure(engine.commit(rooted), 'IDEMPOTENCY_CONFLICT');
    });

    it('are compared when both requests arrive at the same time', async () => {
      const engine = await start(target);
      const keyed = (fsRoot: Hash) => ({
        idempotency,
        ...appendBatch(CONTEXT, 'one', { fsRoot }),
      });
      const ended = await Promise.allSettled([A, A, B].map((root) => engine.commit(keyed(root))));
      expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    });

    describeWhen(target.capabilities.collection, 'in a collection', () => {
      it('are shown newest first, without those that others replaced', async () => {
        const engine = await start(target);
        await append(engine, CONTEXT, 'one', { fsRoot: A });
        const { id } = await append(engine, CONTEXT, 'two', { fsRoot: B });
        await patchTurn(engine, id, 'patched');
        await engine.commit({ fsRoots: [{ turn: id, root: C }] });
        const ears = new Ears();
        const collection = await ears.start(engine);
        expect(await flatten(collection.patches())).toMatchObject([
          { turn: id, payload: C, fsRoot: true },
          { turn: id, payload: blobOf('patched').hash, fsRoot: false },
          { turn: 1n, payload: A, fsRoot: true },
        ]);
        // A commit relies on the tree that it names, and on the turn.
        await engine.commit({ fsRoots: [{ turn: id, root: A }] });
        expect([ears.blobs.has(A), ears.turns.has(id)]).toEqual([true, true]);
        await collection.end();
        expect(await engine.upkeep.check({ repair: false })).toMatchObject({ problems: [] });
      });

      it('finds nothing wrong with an open turn that has one', async () => {
        const engine = await start(target);
        const about = { context: CONTEXT, type: 't', version: 1, encoding: 3 };
        const { opened } = await engine.commit({ opens: [{ ...about, fsRoot: A }] });
        expect(await engine.upkeep.check({ repair: false })).toMatchObject({ problems: [] });
        const collection = await new Ears().start(engine);
        expect(collection.openTurns).toEqual(opened.map(({ id }) => id));
        await collection.end();
      });
    });
    describeWhen(target.capabilities.reopen, 'after opening again', () => {
      it('are the same, also those of turns that were left open', async () => {
        const engine = await start(target);
        await append(engine, CONTEXT, 'one', { fsRoot: A });
        const about = { context: CONTEXT, type: 't', version: 1, encoding: 3 };
        await engine.commit({ opens: [{ ...about, fsRoot: B }] });
        await engine.commit({ fsRoots: [{ turn: toTurnId(1), root: C }] });
        const again = await reopenEngine(target, engine);
        expect(await again.getFsRoots([toTurnId(1), toTurnId(2)])).toMatchObject([
          { turn: 2n, root: B },
          { turn: 1n, root: C },
        ]);
        const flags = TurnFlag.FS_ROOT | TurnFlag.INTERRUPTED;
        expect(await again.getTurn(toTurnId(2))).toMatchObject({ flags });
        await again.reindex();
        expect(await rootOf(again, toTurnId(1))).toBe(C);
      });
    });
  });
}
