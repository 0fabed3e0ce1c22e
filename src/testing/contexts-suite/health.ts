import { describe, expect, it } from 'vitest';
import { toTurnId } from '../../base/brand.ts';
import type { Store } from '../../store/store.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { appendAll, openStore, openWith, payloadsOf } from './fixture.ts';

export function healthSuite(target: ContextsTarget): void {
  describe('health', () => {
    it('removes what no context leads to, and says first what would go', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'shared', 'branch one');
      const fork = await contexts.fork(present(ids[0]));
      await appendAll(contexts, fork.id, ['branch two']);
      const patch = await contexts.patch(present(ids[1]), 'patched');
      await contexts.remove(id);
      const planned = await store.maintain.gc({ ...NOW, dryRun: true });
      expect(planned).toMatchObject({ liveBlobs: 2, deadBlobs: 2, youngBlobs: 0, dryRun: true });
      expect(planned).toMatchObject({ removedBlobs: 0, freedBytes: 0 });
      expect(planned.deadBytes).toBeGreaterThan(0);
      expect(await contexts.turn(present(ids[1]))).toMatchObject({ payload: 'patched' });

      const done = await store.maintain.gc(NOW);
      expect(done).toMatchObject({ liveBlobs: 2, deadBlobs: 2, removedBlobs: 2, keptDeadBytes: 0 });
      expect(done.freedBytes).toBeGreaterThan(0);
      expect(payloadsOf((await contexts.last(fork.id, 9)).turns)).toEqual(['shared', 'branch two']);
      expect(await contexts.turn(present(ids[1]))).toBeUndefined();
      expect(await store.blobs.has(patch.payloadHash)).toBe(false);
      await failure(contexts.fork(present(ids[1])), 'NOT_FOUND');
      expect(await store.maintain.gc(NOW)).toMatchObject({ deadBlobs: 0, removedBlobs: 0 });
      expect(await store.maintain.verify()).toMatchObject({ ok: true, problems: [] });
    });

    it('spares young blobs, and those that a stream goes on from', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      const open = await contexts.open(id, { type: 'test.note' }, { parent: present(ids[1]) });
      await open.write('streamed');
      const { hash } = await store.blobs.put(new TextEncoder().encode('loose'));
      expect(await store.maintain.gc()).toMatchObject({ removedBlobs: 0 });
      expect(await store.blobs.has(hash)).toBe(true);
      await contexts.fork(present(ids[0]));
      expect(await store.maintain.gc(NOW)).toMatchObject({ removedBlobs: 1 });
      expect(await store.blobs.has(hash)).toBe(false);
      await open.seal();
      expect(await store.maintain.gc(NOW)).toMatchObject({ removedBlobs: 1 });
      expect(payloadsOf((await contexts.last(id, 9)).turns)).toEqual(['a', 'b', 'streamed']);
    });

    it('keeps large blobs whole', async () => {
      const store = await openStore(target);
      const { id } = await store.contexts.create();
      const bytes = new Uint8Array(700_000).map((_, at) => (at * at * 13) >>> 6);
      const other = new Uint8Array([...bytes.subarray(200_000), ...bytes.subarray(0, 300_000)]);
      const turn = await store.contexts.append(id, { type: 'test.file', payload: bytes });
      await store.blobs.put(other);
      await store.maintain.gc(NOW);
      const read = present(await store.contexts.turn(turn.id));
      expect(Buffer.compare(present(read.bytes), bytes)).toBe(0);
      expect(await store.maintain.verify()).toMatchObject({ ok: true });
    });

    it('refuses amounts that are none', async () => {
      const store = await openStore(target);
      await failure(store.maintain.gc({ graceMs: -1 }), 'INVALID');
      await failure(store.maintain.gc({ graceMs: Number.NaN }), 'INVALID');
    });

    it('keeps a pinned turn and all before it', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      const [first, second, third] = ids.map(present);
      await contexts.pin(present(second), { reason: 'quoted in a report' });
      await contexts.pin(present(first));
      expect(await contexts.pins()).toEqual([
        { turn: first },
        { turn: second, reason: 'quoted in a report' },
      ]);
      await contexts.remove(id);
      await store.maintain.gc(NOW);
      expect(await contexts.turn(present(second))).toMatchObject({ payload: 'b' });
      expect(await contexts.turn(present(third))).toBeUndefined();
      await contexts.unpin(present(second));
      await store.maintain.gc(NOW);
      expect(await contexts.turn(present(second))).toBeUndefined();
      expect(await contexts.turn(present(first))).toMatchObject({ payload: 'a' });
    });

    it('pins many at once and loses none', async () => {
      const { contexts, ids } = await openWith(target, 'a', 'b', 'c', 'd', 'e', 'f');
      await Promise.all(ids.map((turn) => contexts.pin(turn)));
      expect((await contexts.pins()).map(({ turn }) => turn)).toEqual(ids);
    });

    it('refuses what is not there', async () => {
      const { contexts, id, ids } = await openWith(target, 'a');
      const open = await contexts.open(id, { type: 'test.note' });
      await failure(contexts.pin(toTurnId(99)), 'NOT_FOUND');
      await failure(contexts.pin(open.id), 'INVALID');
      await failure(contexts.pin(present(ids[0]), { reason: '' }), 'INVALID');
      await failure(contexts.unpin(present(ids[0])), 'NOT_FOUND');
      expect(await contexts.pins()).toEqual([]);
    });

    async function threeContexts(): Promise<Store> {
      const store = await openStore(target);
      const { contexts } = store;
      for (const [n, labels] of [['run'], ['run', 'pinned'], ['run']].entries()) {
        const { id } = await contexts.create({ title: `context ${n + 1}`, labels });
        await appendAll(contexts, id, ['x'.repeat(98)]);
      }
      return store;
    }

    it('removes contexts by size, says first which, and spares pinned ones', async () => {
      const store = await threeContexts();
      const policy = { maxBytes: 150, label: 'run' };
      const plan = await store.maintain.retain(policy, { dryRun: true });
      expect(plan).toMatchObject({ kept: 1, pinned: 1, dryRun: true });
      const titles = plan.removed.map(({ title = '' }) => title);
      expect(titles.toSorted()).toEqual(['context 1', 'context 3']);
      expect((await store.contexts.list()).items).toHaveLength(3);
      const done = await store.maintain.retain(policy);
      expect(done.removed).toEqual(plan.removed);
      expect((await store.contexts.list()).items.map(({ title }) => title)).toEqual(['context 2']);
      expect(await store.maintain.retain(policy)).toMatchObject({ removed: [], kept: 1 });
    });

    it('keeps what is young, and looks at the label asked for', async () => {
      const store = await threeContexts();
      expect(await store.maintain.retain({ maxAgeMs: 3_600_000 })).toMatchObject({ removed: [] });
      expect(await store.maintain.retain({ maxBytes: 0, label: 'other' })).toMatchObject({
        removed: [],
        kept: 0,
      });
      await failure(store.maintain.retain({}), 'INVALID');
      await failure(store.maintain.retain({ maxAgeMs: -1 }), 'INVALID');
    });

    it('finds a sound store sound, and counts what it read', async () => {
      const { store } = await openWith(target, 'a', 'b');
      const report = await store.maintain.verify();
      expect(report).toMatchObject({ ok: true, problems: [], more: 0, quarantined: [] });
      expect(report.checked).toMatchObject({ turns: 2, contexts: 1, blobs: 2 });
      expect(await store.maintain.verify({ repair: true })).toMatchObject({ ok: true });
    });
  });
}

const NOW = { graceMs: 0, all: true };
