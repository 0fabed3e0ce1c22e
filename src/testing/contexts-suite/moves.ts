import { describe, expect, it } from 'vitest';
import type { Contexts, MovedHead } from '../../context/contexts.ts';
import type { ContextId } from '../../base/brand.ts';
import type { Turn } from '../../context/turn.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { appendAll, expectIds, iterate, openWith, payloadsOf, take } from './fixture.ts';

const note = (payload: unknown): { type: string; payload: unknown } => ({ type: 't', payload });

async function pathOf(contexts: Contexts, id: ContextId): Promise<unknown[]> {
  return payloadsOf((await contexts.last(id, 99)).turns);
}

export function movesSuite(target: ContextsTarget): void {
  describe('moving the head', () => {
    it('undoes, redoes, pops and clears in one call each', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      const [a, b, c] = ids;
      const undone = await contexts.moveHead(id, present(b), { expectedHead: present(c) });
      expect(undone).toMatchObject({ id, head: b, headDepth: 1 });
      expect(await pathOf(contexts, id)).toEqual(['a', 'b']);
      await contexts.moveHead(id, present(c));
      expect(await pathOf(contexts, id)).toEqual(['a', 'b', 'c']);
      expect(await contexts.moveHead(id, 0n)).toMatchObject({ head: 0n, headDepth: 0 });
      expect(await pathOf(contexts, id)).toEqual([]);
      await contexts.append(id, note('anew'));
      expect(await pathOf(contexts, id)).toEqual(['anew']);
      await failure(contexts.moveHead(id, present(a), { expectedHead: present(b) }), 'HEAD_MOVED');
      await failure(contexts.moveHead(id, 99n), 'NOT_FOUND');
      await failure(contexts.moveHead(99n, 0n), 'NOT_FOUND');
    });

    it('regenerates an answer and edits the first message as a branch', async () => {
      const { contexts, id, ids } = await openWith(target, 'question', 'answer');
      const [question] = ids;
      await contexts.append(id, note('another answer'), { parent: present(question) });
      expect(await pathOf(contexts, id)).toEqual(['question', 'another answer']);
      const edited = await contexts.append(id, note('another question'), { parent: 0n });
      expect(edited).toMatchObject({ parent: 0n, depth: 0 });
      expect(await pathOf(contexts, id)).toEqual(['another question']);
      await contexts.moveHead(id, present(ids[1]));
      expect(await pathOf(contexts, id)).toEqual(['question', 'answer']);
      const open = await contexts.open(id, { type: 't' }, { parent: 0n });
      await failure(contexts.moveHead(id, 0n), 'LOCKED');
      await open.write('streamed');
      expect(await open.seal()).toMatchObject({ parent: 0n, depth: 0 });
    });

    it('keeps what the head leaves as a branch, or changes nothing', async () => {
      const { contexts, id, ids } = await openWith(target, 'question', 'answer');
      const [question, answer] = [present(ids[0]), present(ids[1])];
      const all = async (): Promise<string[]> => {
        const { items } = await contexts.list();
        return items.map(({ name, head }) => `${name} ${head}`).toSorted();
      };
      const options = { expectedHead: answer, keepHead: { name: 'first', kind: 'k' } };
      const moved = await contexts.moveHead(id, question, options);
      expect(moved).toMatchObject({ id, head: question });
      const kept = { head: answer, base: answer, kind: 'k' };
      expect(await contexts.byName('first')).toMatchObject(kept);
      const again = { parent: 0n, expectedHead: question, keepHead: { name: 'second' } };
      const edited = await contexts.append(id, note('edited'), again);
      expect(await contexts.byName('second')).toMatchObject({ head: question });
      const then = { parent: 0n, expectedHead: edited.id, keepHead: { name: 'third' } };
      const batch = await contexts.appendBatch(id, [note('a'), note('b')], then);
      expect(await contexts.byName('third')).toMatchObject({ head: edited.id });

      const { id: head } = present(batch.at(-1));
      const before = await all();
      const late = { expectedHead: edited.id, keepHead: { name: 'late' } };
      const works = [
        () => contexts.moveHead(id, 0n, late),
        () => contexts.append(id, note('c'), late),
        () => contexts.appendBatch(id, [note('c')], late),
      ];
      for (const work of works) await failure(work(), 'HEAD_MOVED');
      const taken = { expectedHead: head, keepHead: { name: 'third' } };
      await failure(contexts.moveHead(id, 0n, taken), 'EXISTS');
      await failure(contexts.append(id, note('c'), taken), 'EXISTS');
      await failure(contexts.append(id, note('c'), { keepHead: { name: 'late' } }), 'INVALID');
      const { id: open } = await contexts.open(id, { type: 't' });
      const now = { expectedHead: head, keepHead: { name: 'late' } };
      await failure(contexts.moveHead(id, 0n, now), 'LOCKED');
      await failure(contexts.append(id, note('c'), now), 'LOCKED');
      expect(await all()).toEqual(before);
      await contexts.abort(open, 'enough');

      await contexts.moveHead(id, 0n);
      await contexts.moveHead(id, answer, { expectedHead: 0n, keepHead: { name: 'empty' } });
      expect(await contexts.byName('empty')).toBeUndefined();
    });

    it('tells followers that ask, and gives the turns on the new way', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      const items = iterate((signal) => contexts.follow(id, { signal, moves: true }));
      expectIds((await take(items, 3)) as Turn[], ids);
      await contexts.moveHead(id, present(ids[0]));
      const [moved] = (await take(items, 1)) as MovedHead[];
      expect(JSON.parse(JSON.stringify(moved))).toEqual({ backTo: String(ids[0]), depth: 0 });
      const [d] = await appendAll(contexts, id, ['d']);
      expectIds((await take(items, 1)) as Turn[], [present(d)]);
      await contexts.moveHead(id, present(ids[2]));
      const [back, ...again] = await take(items, 3);
      expect(back).toMatchObject({ backTo: ids[0] });
      expectIds(again as Turn[], ids.slice(1));
      await contexts.moveHead(id, 0n);
      expect(await take(items, 1)).toMatchObject([{ backTo: 0n, depth: 0 }]);
      const [e] = await appendAll(contexts, id, ['e']);
      expectIds((await take(items, 1)) as Turn[], [present(e)]);
    });

    it('gives other followers turns alone, whose parents tell the way', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      const items = iterate((signal) => contexts.follow(id, { signal }));
      expectIds(await take(items, 3), ids);
      await contexts.moveHead(id, present(ids[0]));
      const [d] = await appendAll(contexts, id, ['d']);
      const [next] = await take(items, 1);
      expect(next).toMatchObject({ id: d, parent: ids[0] });
    });

    it('tells a follower that comes back after the head was moved', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      await contexts.moveHead(id, present(ids[0]));
      const after = present(ids[2]);
      const items = iterate((signal) => contexts.follow(id, { signal, after, moves: true }));
      expect(await take(items, 1)).toMatchObject([{ backTo: ids[0] }]);
      await contexts.moveHead(id, present(ids[1]));
      expectIds((await take(items, 1)) as Turn[], [present(ids[1])]);
    });

    it('is an update to watchers', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'a', 'b');
      const events = iterate((signal) => store.watch({ context: id }, { signal }));
      await take(events, 1);
      await contexts.moveHead(id, present(ids[0]));
      expect(await take(events, 1)).toMatchObject([
        { kind: 'context.updated', context: { id, head: ids[0] } },
      ]);
    });

    it('can go forward again after a collection', async () => {
      const { store, contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      for (const back of [ids[1], ids[0], 0n]) await contexts.moveHead(id, present(back));
      await contexts.append(id, note('d'));
      await store.maintain.gc({ graceMs: 0, all: true });
      await contexts.moveHead(id, present(ids[2]));
      expect(await pathOf(contexts, id)).toEqual(['a', 'b', 'c']);
      expect((await store.maintain.verify()).problems).toEqual([]);
    });
  });
}
