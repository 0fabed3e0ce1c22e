import { describe, expect } from 'vitest';

import { toContextId, toTurnId } from '../../base/brand.ts';
import { hashBytes, sha256Hex } from '../../base/hash.ts';
import type { Engine } from '../../engine/engine.ts';
import { TurnFlag } from '../../format/turn-record.ts';
import { describeWhen } from './describe-when.ts';
import type { EngineTarget } from './engine-target.ts';
import {
  textOf,
  append,
  appendAll,
  appendBatch,
  appendLines,
  blobOf,
  createContext,
  failure,
  openEngine,
  openTurn,
  patchTurn,
  present,
  putDoc,
  reopenEngine,
  sealTurn,
  writeDelta,
  engineCases,
} from './fixture.ts';
import { listAllContexts, readAll } from './read-all.ts';

export function lifecycleSuite(target: EngineTarget): void {
  const it = engineCases(target);
  describe('clock', () => {
    it('never lets time run backwards, whatever the clock says', async () => {
      const times = [5000, 4000, 6000, 1, 6001];
      let now = 5000;
      const engine = await openEngine(target, { clock: () => now });
      const { id } = await createContext(engine);
      const created: number[] = [];
      for (const time of times) {
        now = time;
        const row = await append(engine, id, `at ${time}`);
        created.push(row.createdAt);
        expect(await engine.getHead(id)).toMatchObject({
          updatedAt: row.createdAt,
          createdAt: 5000,
        });
      }
      expect(created).toEqual([5000, 5000, 6000, 6000, 6001]);
      now = 2;
      expect(await createContext(engine)).toMatchObject({ createdAt: 6001, updatedAt: 6001 });
      expect(await patchTurn(engine, toTurnId(1), 'x')).toMatchObject({ createdAt: 6001 });
    });
  });
  describe('upkeep', () => {
    it('counts what is there', async ({ engine }) => {
      const none = {
        turns: 0,
        contexts: 0,
        patches: 0,
        blobs: 0,
        blobBytes: 0,
        logicalBytes: 0,
        logs: 0,
        docs: 0,
      };
      expect(await engine.stats()).toMatchObject(none);
      const { id } = await createContext(engine);
      await appendAll(engine, id, ['same', 'same', 'other']);
      await appendLines(engine, 'logs/log', '1');
      await putDoc(engine, 'doc', '1');
      const stats = await engine.stats();
      const some = {
        turns: 3,
        contexts: 1,
        blobs: 2,
        blobBytes: 9,
        logicalBytes: 13,
        logs: 1,
        docs: 1,
      };
      expect(stats).toMatchObject({ ...some, patches: 0 });
      await patchTurn(engine, toTurnId(1), 'same');
      expect(await engine.stats()).toMatchObject({ ...some, patches: 1 });
      expect(stats.storedBytes).toBeGreaterThan(0);
      expect(stats.diskBytes).toBeGreaterThanOrEqual(0);
      expect(stats.disk.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(stats.diskBytes);
      expect(stats.lastBackup).toBeUndefined();
      expect(['safe', 'unsafe']).toContain(stats.durability);
      expect(stats.engine).not.toBe('');
    });

    it('changes nothing at a checkpoint', async ({ engine }) => {
      await engine.checkpoint();
      await fill(engine);
      const before = await readAll(engine);
      await engine.checkpoint();
      await engine.checkpoint();
      expect(await readAll(engine)).toEqual(before);
      await append(engine, toContextId(1), 'after');
    });
  });
  describe('closing', () => {
    it('finishes what was sent before', async ({ engine }) => {
      const { id } = await createContext(engine);
      const sent = Array.from({ length: 20 }, (_, n) =>
        engine.commit(appendBatch(id, `turn ${n}`)),
      );
      const closed = engine.close();
      const ids = (await Promise.all(sent)).map((committed) =>
        Number(present(committed.turns[0]).id),
      );
      expect(ids).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
      await closed;
    });

    it('may be called twice, also at the same time', async ({ engine }) => {
      await Promise.all([engine.close(), engine.close()]);
      await engine.close();
    });

    it('ends every other call with CLOSED', async ({ engine }) => {
      const { id } = await createContext(engine);
      await append(engine, id, 'a');
      await engine.close();
      const [{ hash }, turn] = [blobOf('a'), toTurnId(1)];
      const calls: Record<string, () => Promise<unknown>> = {
        commit: () => engine.commit({ contexts: [{ do: 'create' }] }),
        hasBlob: () => engine.hasBlob(hash),
        statBlob: () => engine.statBlob(hash),
        getBlob: () => engine.getBlob(hash),
        readBlob: async () => engine.readBlob(hash)[Symbol.asyncIterator]().next(),
        putBlob: () => engine.putBlob({ chunks: oneByte() }),
        findBySha256: () => engine.findBySha256(sha256Hex(new Uint8Array())),
        listBlobs: () => engine.listBlobs('', 1),
        getTurn: () => engine.getTurn(turn),
        walkBack: () => engine.walkBack(turn, 1),
        ancestorAt: () => engine.ancestorAt(turn, 0),
        commonAncestor: () => engine.commonAncestor(turn, turn),
        getOpenTurn: () => engine.getOpenTurn(turn),
        getHead: () => engine.getHead(id),
        getContext: () => engine.getContext(id),
        listContexts: () => engine.listContexts({ limit: 1 }),
        getPatches: () => engine.getPatches([turn]),
        getLog: () => engine.getLog('logs/log'),
        readLog: () => engine.readLog('logs/log', 0, 1),
        salvageLog: () => engine.salvageLog('logs/log', 0, 1),
        listLogs: () => engine.listLogs('', 1),
        getDoc: () => engine.getDoc('doc'),
        listDocs: () => engine.listDocs('', 1),
        stats: () => engine.stats(),
        checkpoint: () => engine.checkpoint(),
        reindex: () => engine.reindex(),
      };
      for (const [name, call] of Object.entries(calls)) {
        await failure(Promise.resolve().then(call), 'CLOSED').catch((error: unknown) => {
          throw new Error(`${name}: ${String(error)}`, { cause: error });
        });
      }
    });
  });
  describeWhen(target.capabilities.reopen, 'opening again', () => {
    it('finds everything as it was', async ({ engine }) => {
      await fill(engine);
      const large = blobOf('large '.repeat(100_000));
      await engine.commit({ blobs: [{ ...large, sha256: sha256Hex(large.bytes) }] });
      const { openTurn: open } = present(await engine.getHead(toContextId(3)));
      await sealTurn(engine, open, 'so far');
      const before = await readAll(engine);
      const again = await reopenEngine(target, engine);
      expect(await readAll(again)).toEqual(before);
      expect(hashBytes(present(await again.getBlob(large.hash)))).toBe(large.hash);
      expect(await again.findBySha256(sha256Hex(large.bytes))).toBe(large.hash);
      expect((await listAllContexts(again, { label: 'l0' })).map((row) => row.id)).toEqual([1n]);
      expect((await listAllContexts(again, { kind: 'chat' })).map((row) => row.id)).toEqual([5n]);
    });

    it('goes on where it was', async ({ engine }) => {
      await fill(engine);
      const [turns, { seq }] = [
        (await readAll(engine)).turns.length,
        await engine.commit({ docs: [{ name: 'd', content: '1' }] }),
      ];
      const again = await reopenEngine(target, engine);
      expect((await again.commit({ docs: [{ name: 'd', content: '2' }] })).seq).toBeGreaterThan(
        seq,
      );
      expect(await append(again, toContextId(1), 'next')).toMatchObject({
        id: BigInt(turns + 1),
        parent: 4n,
      });
      expect((await createContext(again)).id).toBe(6n);
      expect(await patchTurn(again, toTurnId(1), 'next', { expectedSeq: 1 })).toMatchObject({
        seq: 3,
      });
      await putDoc(again, 'gone.json', '2');
      expect(await again.getDoc('gone.json')).toMatchObject({ version: 2 });
      await appendLines(again, 'chats/one', '3');
      expect(await again.readLog('chats/one', 0, 10)).toEqual(['1', '2', '3']);
    });

    it('ends the turns that were left open, with every acknowledged byte', async ({ engine }) => {
      await fill(engine);
      const { openTurn: open } = present(await engine.getHead(toContextId(3)));
      const again = await reopenEngine(target, engine);
      const turn = present(await again.getTurn(open));
      expect(turn).toMatchObject({ size: 6, flags: TurnFlag.INTERRUPTED });
      expect(textOf(await again.getBlob(present(turn.payload)))).toBe('so far');
      expect(await again.getOpenTurn(open)).toBeUndefined();
      expect(await again.getHead(toContextId(3))).toMatchObject({ head: open, openTurn: 0n });
      await failure(writeDelta(again, open, 6, ', and on'), 'INVALID');
    });

    it('remembers idempotency keys', async ({ engine }) => {
      const { id } = await createContext(engine);
      const batch = { ...appendBatch(id, 'a'), idempotency: { context: id, key: 'k' } };
      const first = await engine.commit(batch);
      const again = await reopenEngine(target, engine);
      expect(await again.commit(batch)).toMatchObject({ replayed: true, turns: first.turns });
      await failure(again.commit({ ...batch, ...appendBatch(id, 'b') }), 'IDEMPOTENCY_CONFLICT');
    });

    it('lets no time run backwards in between', async () => {
      const engine = await openEngine(target, { clock: () => 9000 });
      const { id } = await createContext(engine);
      await append(engine, id, 'a');
      const again = await reopenEngine(target, engine, { clock: () => 10 });
      expect(await append(again, id, 'b')).toMatchObject({ createdAt: 9000 });
    });

    it('opens empty when nothing was written', async () => {
      const again = await reopenEngine(target, await openEngine(target));
      expect(await readAll(again)).toMatchObject({ turns: [], contexts: [], logs: {}, docs: [] });
    });
  });
  describeWhen(target.capabilities.reindex, 'reindexing', () => {
    it('answers as before', async ({ engine }) => {
      await fill(engine);
      const [before, stats] = [await readAll(engine), await engine.stats()];
      const steps: [number, number][] = [];
      await engine.reindex((done, total) => steps.push([done, total]));
      expect(await readAll(engine)).toEqual(before);
      const { turns, contexts, patches, blobs, blobBytes, logicalBytes, logs, docs } = stats;
      const counts = { turns, contexts, patches, blobs, blobBytes, logicalBytes, logs, docs };
      expect(await engine.stats()).toMatchObject(counts);
      expect(steps.every(([done, total]) => done <= total)).toBe(true);
      expect(await append(engine, toContextId(1), 'after')).toMatchObject({ parent: 4n });
    });
  });
}

/** Writes some of everything, with things removed, described and left open. */
async function fill(engine: Engine): Promise<void> {
  const ids = [];
  for (let n = 0; n < 4; n++)
    ids.push((await createContext(engine, { meta: { labels: [`l${n}`] } })).id);
  const [first, second, third, fourth] = ids.map((id) => toContextId(id));
  await appendAll(engine, present(first), ['a', 'b', 'c']);
  await append(engine, present(first), 'd', { parent: toTurnId(1) });
  await createContext(engine, { base: toTurnId(2), meta: { title: 'a fork', kind: 'chat' } });
  await engine.commit({
    ...appendBatch(present(second), 'e'),
    idempotency: { context: present(second), key: 'k' },
  });
  const aborted = await openTurn(engine, present(second));
  await writeDelta(engine, aborted.id, 0, 'text');
  await sealTurn(engine, aborted.id, 'text', 'aborted');
  const open = await openTurn(engine, present(third));
  for (const [index, text] of ['so ', 'far'].entries())
    await writeDelta(engine, open.id, index * 3, text);
  await engine.commit({ contexts: [{ do: 'remove', context: present(fourth) }] });
  await patchTurn(engine, toTurnId(1), 'patched');
  await patchTurn(engine, toTurnId(2), 'why', { tombstone: true });
  await appendLines(engine, 'chats/one', '1', '2');
  await appendLines(engine, 'chats/gone', '1');
  await putDoc(engine, 'threads.json', '{"a":1}');
  await putDoc(engine, 'gone.json', '1');
  await engine.commit({
    logs: [{ do: 'remove', name: 'chats/gone' }],
    docs: [{ name: 'gone.json', content: undefined }],
  });
}

async function* oneByte(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1);
}
