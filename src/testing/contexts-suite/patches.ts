import { describe, expect, it } from 'vitest';
import { toTurnId } from '../../base/brand.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { collect, openWith, payloadsOf } from './fixture.ts';

export function patchesSuite(target: ContextsTarget): void {
  describe('patches', () => {
    it('reads the newest, the original, or as of a patch', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b');
      const turn = present(ids[0]);
      const first = await contexts.patch(turn, 'a2');
      const other = await contexts.patch(present(ids[1]), 'b2');
      const second = await contexts.patch(turn, 'a3 as text', { encoding: 'text' });
      expect([first.seq < other.seq, other.seq < second.seq]).toEqual([true, true]);
      const read = async (as: 'latest' | 'original' | number): Promise<unknown[]> =>
        payloadsOf((await contexts.last(id, 2, { as })).turns);
      expect(await read('latest')).toEqual(['a3 as text', 'b2']);
      expect(await read('original')).toEqual(['a', 'b']);
      expect(await read(first.seq - 1)).toEqual(['a', 'b']);
      expect(await read(first.seq)).toEqual(['a2', 'b']);
      expect(await read(other.seq)).toEqual(['a2', 'b2']);
      expect(await read(second.seq)).toEqual(await read('latest'));
      expect(payloadsOf(await collect(contexts.chain(present(ids[1]))))).toEqual([
        'a3 as text',
        'b2',
      ]);
      expect((await contexts.range(id, 0, 1)).turns[0]?.payload).toBe('a3 as text');
    });

    it('says so, and shows hash, size and encoding of what it shows', async () => {
      const { contexts, ids } = await openWith(target, 'a');
      const turn = present(ids[0]);
      const original = present(await contexts.turn(turn));
      expect(original).toMatchObject({ patched: false, flags: 0 });
      const patch = await contexts.patch(turn, 'hello', { encoding: 'text' });
      const patched = present(await contexts.turn(turn));
      expect(patched).toMatchObject({
        patched: true,
        tombstone: false,
        flags: 8,
        encoding: 'text',
      });
      expect(patched).toMatchObject({
        payloadHash: patch.payloadHash,
        size: 5,
        createdAt: original.createdAt,
      });
      expect((await contexts.turn(turn, { as: 'original' }))?.toJSON()).toEqual(original.toJSON());
      expect((await contexts.patches(turn)).map((row) => row.toJSON())).toEqual([patch.toJSON()]);
      expect(JSON.parse(JSON.stringify(patch))).toMatchObject({ turn: '1', tombstone: false });
    });

    it('hides the payload and keeps the reason', async () => {
      const { contexts, id, ids } = await openWith(target, 'secret', 'b');
      const turn = present(ids[0]);
      const original = present(await contexts.turn(turn));
      expect(await contexts.tombstone(turn, 'a password')).toMatchObject({ turn, tombstone: true });
      const [read] = (await contexts.last(id, 2)).turns;
      expect(read).toMatchObject({
        tombstone: true,
        patched: true,
        size: 0,
        flags: 24,
        reason: 'a password',
      });
      expect([read?.payload, read?.bytes]).toEqual([undefined, undefined]);
      expect(read?.payloadHash).toBe(original.payloadHash);
      expect(read?.toJSON()).not.toHaveProperty('payload');
      expect((await contexts.turn(turn, { as: 'original' }))?.payload).toBe('secret');
      const bare = (await contexts.last(id, 2, { payload: false })).turns[0];
      expect(bare).toMatchObject({ tombstone: true, size: 0 });
    });

    it('gives way to a later patch', async () => {
      const { contexts, ids } = await openWith(target, 'a');
      const turn = present(ids[0]);
      const tombstone = await contexts.tombstone(turn, 'wrong');
      await contexts.patch(turn, 'right');
      expect(await contexts.turn(turn)).toMatchObject({ tombstone: false, payload: 'right' });
      expect(await contexts.turn(turn, { as: tombstone.seq })).toMatchObject({ tombstone: true });
    });

    it('compares the newest patch when asked', async () => {
      const { contexts, ids } = await openWith(target, 'a');
      const turn = present(ids[0]);
      const first = await contexts.patch(turn, 'b', { expectedSeq: 0 });
      await failure(contexts.patch(turn, 'c', { expectedSeq: 0 }), 'HEAD_MOVED');
      await failure(contexts.tombstone(turn, 'r', { expectedSeq: first.seq + 1 }), 'HEAD_MOVED');
      await contexts.tombstone(turn, 'r', { expectedSeq: first.seq });
      expect((await contexts.patches(turn)).length).toBe(2);
    });

    it('refuses turns that are open or missing', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, { type: 't' });
      await failure(contexts.patch(open.id, 'b'), 'INVALID');
      await failure(contexts.tombstone(open.id, 'r'), 'INVALID');
      await failure(contexts.patch(toTurnId(99), 'b'), 'NOT_FOUND');
    });
  });
}
