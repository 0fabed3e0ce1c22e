import { describe, expect, it } from 'vitest';
import { toContextId, toTurnId } from '../../base/brand.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { openStore, openWith, settle } from './fixture.ts';

export function lifeSuite(target: ContextsTarget): void {
  describe('a store', () => {
    it('says how much it holds', async () => {
      const { store } = await openWith(target, 'same', 'same', 'same', 'same');
      const stats = await store.maintain.stats();
      expect(stats).toMatchObject({
        turns: 4,
        contexts: 1,
        blobs: 1,
        blobBytes: 6,
        logicalBytes: 24,
      });
      // Sharing and compression are told apart: four equal payloads are kept once, and too short to compress.
      expect(stats.sharingRatio).toBeCloseTo(4);
      expect(stats.compressionRatio).toBeCloseTo(6 / stats.storedBytes);
      expect(['safe', 'unsafe']).toContain(stats.durability);
    });

    it('has a ratio of one while it is empty', async () => {
      const store = await openStore(target);
      expect(await store.maintain.stats()).toMatchObject({ sharingRatio: 1, compressionRatio: 1 });
    });

    it('shares nothing when all payloads differ, however well they compress', async () => {
      const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(2000));
      const { store } = await openWith(target, ...texts);
      const { sharingRatio, compressionRatio } = await store.maintain.stats();
      expect(sharingRatio).toBe(1);
      // An engine need not compress.
      expect(compressionRatio).toBeGreaterThanOrEqual(1);
    });

    it('reads the same after a checkpoint and after a reindex', async () => {
      const { store, contexts, id } = await openWith(target, 'a', 'b');
      const read = async (): Promise<string> => JSON.stringify((await contexts.last(id, 9)).turns);
      const before = await read();
      await store.maintain.checkpoint();
      const progress: number[] = [];
      await store.maintain.reindex((done, total) => progress.push(total - done));
      expect(await read()).toBe(before);
      for (const left of progress) expect(left).toBeGreaterThanOrEqual(0);
    });

    it('finishes what was sent and refuses the rest with CLOSED', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'a');
      const sent = contexts.append(id, { type: 't', payload: 'b' });
      await Promise.all([store.close(), store.close()]);
      expect((await sent).depth).toBe(1);
      await store[Symbol.asyncDispose]();
      const [context, turn] = [toContextId(1), toTurnId(1)];
      const hex = '0'.repeat(64);
      const calls: (() => unknown)[] = [
        () => contexts.create(),
        () => contexts.fork(turn),
        () => contexts.get(context),
        () => contexts.list(),
        () => contexts.update(context, {}),
        () => contexts.remove(context),
        () => contexts.append(context, { type: 't', payload: 1 }),
        () => contexts.appendBatch(context, [{ type: 't', payload: 1 }]),
        () => contexts.last(context, 1),
        () => contexts.before(context, turn, 1),
        () => contexts.range(context, 0, 1),
        () => contexts.chain(turn),
        () => contexts.turn(present(ids[0])),
        () => contexts.diff(turn, turn),
        () => contexts.open(context, { type: 't' }),
        () => contexts.resume(turn),
        () => contexts.patch(turn, 1),
        () => contexts.tombstone(turn, 'r'),
        () => contexts.patches(turn),
        () => contexts.follow(context),
        () => contexts.followOpen(turn),
        () => store.blobs.put(new Uint8Array(1)),
        () => store.blobs.get(hex),
        () => store.blobs.has(hex),
        () => store.blobs.stat(hex),
        () => store.blobs.stream(hex),
        () => store.maintain.stats(),
        () => store.maintain.checkpoint(),
        () => store.maintain.reindex(),
      ];
      for (const call of calls) await failure(settle(call), 'CLOSED');
    });

    it.skipIf(target.reopen === undefined)('is the same after closing and opening', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      await contexts.patch(present(ids[0]), 'a2');
      await contexts.tombstone(present(ids[1]), 'gone');
      await contexts.update(id, { title: 'kept', labels: ['x'], meta: { n: 1 } });
      const key = { idempotencyKey: 'k' };
      const keyed = await contexts.append(id, { type: 't', payload: 'keyed' }, key);
      await (await contexts.open(id, { type: 't' })).abort('stopped');
      const fork = await contexts.fork(present(ids[1]));
      const read = async (from: typeof contexts): Promise<string> =>
        JSON.stringify([
          (await from.last(id, 9)).turns,
          (await from.last(fork.id, 9)).turns,
          (await from.list()).items,
          await from.patches(present(ids[0])),
        ]);
      const before = await read(contexts);
      await store.close();
      await using again = present(await target.reopen?.(store));
      expect(await read(again.contexts)).toBe(before);
      const repeated = await again.contexts.append(id, { type: 't', payload: 'keyed' }, key);
      expect(repeated.id).toBe(keyed.id);
      expect((await again.contexts.append(id, { type: 't', payload: 'new' })).id).toBe(6n);
    });
  });
}
