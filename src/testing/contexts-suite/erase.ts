import { describe, expect, it } from 'vitest';
import { toTurnId } from '../../base/brand.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { appendAll, openStore, openWith, payloadsOf } from './fixture.ts';

const REASON = { reason: 'a password' };

export function eraseSuite(target: ContextsTarget): void {
  describe('erasing', () => {
    it('leaves the reason and no hash, however the turn is read', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'secret', 'after');
      const turn = present(ids[0]);
      const before = present(await contexts.turn(turn));
      const patch = await contexts.patch(turn, 'secret too');
      const report = await contexts.erase(turn, REASON);
      expect(report).toMatchObject({ turn, erased: true });
      expect(report.blobs.map(({ hash }) => hash).toSorted()).toEqual(
        [present(before.payloadHash), patch.payloadHash].toSorted(),
      );
      for (const as of ['latest', 'original', patch.seq] as const) {
        const read = present(await contexts.turn(turn, { as }));
        expect(read).toMatchObject({ tombstone: true, size: 0, reason: 'a password' });
        expect(read).toMatchObject({ payload: undefined, payloadHash: undefined });
        const record = present(await contexts.turn(turn, { as, payload: false }));
        expect(JSON.stringify(record)).not.toContain(present(before.payloadHash));
      }
      const shown = JSON.stringify(await contexts.patches(turn));
      expect(shown).not.toContain(patch.payloadHash);
      expect(
        (await contexts.last(id, 9, { as: 'original' })).turns.map((row) => row.payload),
      ).toEqual([undefined, 'after']);
      for (const { hash } of report.blobs) expect(await store.blobs.get(hash)).toBeUndefined();
      expect(await store.maintain.verify()).toMatchObject({ ok: true });
      const again = await contexts.erase(turn, REASON);
      expect(again).toMatchObject({ erased: true });
      const told = again.blobs.map(({ hash }) => hash);
      for (const { hash } of report.blobs) expect(told).not.toContain(hash);
      expect(await store.maintain.gc({ graceMs: 0, all: true })).toMatchObject({ liveBlobs: 2 });
    });

    it('shows a later patch, and takes the same text again', async () => {
      const { contexts, id, ids } = await openWith(target, 'secret');
      const turn = present(ids[0]);
      await contexts.erase(turn, REASON);
      await contexts.patch(turn, 'clean');
      expect(await contexts.turn(turn)).toMatchObject({ payload: 'clean', tombstone: false });
      await appendAll(contexts, id, ['secret']);
      expect(payloadsOf((await contexts.last(id, 1)).turns)).toEqual(['secret']);
    });

    it('refuses turns that are open or missing, and reasons that tell', async () => {
      const { contexts, id, ids } = await openWith(target);
      const { id: turn } = await contexts.append(id, {
        type: 'test.note',
        payload: 'secret',
        encoding: 'text',
      });
      expect(ids).toEqual([]);
      await failure(contexts.erase(turn, { reason: 'secret' }), 'INVALID');
      await failure(contexts.erase(turn, { reason: '' }), 'INVALID');
      await failure(contexts.erase(toTurnId(99), REASON), 'NOT_FOUND');
      const open = await contexts.open(id, { type: 'test.note' });
      await failure(contexts.erase(open.id, REASON), 'INVALID');
      expect(await contexts.turn(turn)).toMatchObject({ payload: 'secret' });
    });

    it('lists the other turns that use the bytes, and does nothing to them', async () => {
      const { contexts, ids } = await openWith(target, 'secret', 'b', 'secret', 'd');
      const [first, , third, fourth] = ids.map(present);
      await contexts.patch(present(fourth), 'secret');
      const report = await contexts.erase(present(first), REASON);
      expect(report.erased).toBe(false);
      expect(report.blobs).toMatchObject([{ erased: false, usedBy: [first, third, fourth] }]);
      expect(await contexts.turn(present(first))).toMatchObject({ payload: 'secret' });
      expect(await contexts.patches(present(first))).toEqual([]);
    });

    it('erases everywhere when told, and hides nothing else', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'secret', 'b', 'c', 'd');
      const [first, second, third] = ids.map(present);
      // The second turn shows the secret, the third showed it once.
      await contexts.patch(present(second), 'secret');
      const once = await contexts.patch(present(third), 'secret');
      await contexts.patch(present(third), 'shown');
      const report = await contexts.erase(present(first), { ...REASON, everywhere: true });
      expect(report).toMatchObject({ erased: true, blobs: [{ usedBy: [first, second, third] }] });
      const { turns } = await contexts.last(id, 9);
      expect(payloadsOf(turns)).toEqual([undefined, undefined, 'shown', 'd']);
      expect(turns.map(({ tombstone }) => tombstone)).toEqual([true, true, false, false]);
      expect(await contexts.turn(present(third), { as: once.seq })).toMatchObject({
        tombstone: true,
        reason: 'a password',
      });
      expect(await contexts.turn(present(third), { as: 'original' })).toMatchObject({
        payload: 'c',
      });
      expect(await store.maintain.verify()).toMatchObject({ ok: true });
    });

    it('erases a blob that nobody uses, by any of its names', async () => {
      const store = await openStore(target);
      const put = await store.blobs.put(new TextEncoder().encode('loose'), { sha256: true });
      const ref = `blob:sha256:${put.sha256}`;
      expect(await store.blobs.erase(ref, REASON)).toEqual({
        hash: put.hash,
        erased: true,
        usedBy: [],
        neededBy: [],
      });
      expect(await store.blobs.get(put.hash)).toBeUndefined();
      expect(await store.blobs.get(ref)).toBeUndefined();
      await failure(store.blobs.erase(put.hash, REASON), 'NOT_FOUND');
      await failure(store.blobs.erase('nonsense', REASON), 'INVALID');
    });

    it('lists the turns that use it, and gives each a tombstone when told everywhere', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'secret', 'b');
      const hash = present(present(await contexts.turn(present(ids[0]))).payloadHash);
      expect(await store.blobs.erase(hash, REASON)).toMatchObject({
        erased: false,
        usedBy: [ids[0]],
      });
      expect(await store.blobs.has(hash)).toBe(true);
      const report = await store.blobs.erase(hash, { ...REASON, everywhere: true });
      expect(report).toMatchObject({ erased: true, usedBy: [ids[0]] });
      expect(payloadsOf((await contexts.last(id, 9)).turns)).toEqual([undefined, 'b']);
    });
  });
}
