import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Turn } from '../../context/turn.ts';
import { present } from '../engine-suite/fixture.ts';
import type { ContextsTarget } from './contexts-target.ts';
import { appendAll, collect, iterate, openWith, payloadsOf, take } from './fixture.ts';

export function followSuite(target: ContextsTarget): void {
  describe('following', () => {
    it('gives what is there, then what comes', async () => {
      const { contexts, id } = await openWith(target, 'a', 'b');
      const turns = iterate((signal) => contexts.follow(id, { signal }));
      expect(payloadsOf(await take(turns, 2))).toEqual(['a', 'b']);
      const next = take(turns, 2);
      await appendAll(contexts, id, ['c', 'd']);
      expect(payloadsOf(await next)).toEqual(['c', 'd']);
    });

    it('begins after a turn, or on an empty context', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      const after = present(ids[1]);
      const turns = iterate((signal) => contexts.follow(id, { after, signal, payload: false }));
      expect((await take(turns, 1)).map((turn) => turn.id)).toEqual([ids[2]]);
      const { id: empty } = await contexts.create();
      const others = take(
        iterate((signal) => contexts.follow(empty, { signal })),
        1,
      );
      await appendAll(contexts, empty, ['x']);
      expect(payloadsOf(await others)).toEqual(['x']);
    });

    it('says how far behind a reader is', async () => {
      const { contexts, id } = await openWith(target, 0);
      const notes = Array.from({ length: 599 }, (_, n) => ({ type: 'note', payload: n + 1 }));
      await contexts.appendBatch(id, notes);
      const behind: number[] = [];
      const onBehind = (turns: number): number => behind.push(turns);
      const turns = iterate((signal) => contexts.follow(id, { signal, onBehind, payload: false }));
      await take(turns, 300);
      await contexts.append(id, { type: 'note', payload: 600 });
      expect((await take(turns, 301)).map((turn) => turn.depth)).toEqual(
        Array.from({ length: 301 }, (_, n) => 300 + n),
      );
      expect(behind).toEqual([600, 344]);
    });

    it('has no gap and no repetition under load', async () => {
      const { contexts, id } = await openWith(target, 0, 1, 2);
      const writer = appendAll(
        contexts,
        id,
        Array.from({ length: 300 }, (_, n) => n + 3),
      );
      const readers = Array.from({ length: 4 }, async (_, lag) => {
        const seen: unknown[] = [];
        const turns = iterate((signal) => contexts.follow(id, { signal }));
        while (seen.length < 303) {
          seen.push(...payloadsOf(await take(turns, 1)));
          if (lag > 0 && seen.length % 50 === 0) await sleep(lag);
        }
        return seen;
      });
      await writer;
      const all = Array.from({ length: 303 }, (_, n) => n);
      for (const seen of await Promise.all(readers)) expect(seen).toEqual(all);
    });

    it('goes to another branch from the common ancestor', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b', 'c');
      const turns = iterate((signal) => contexts.follow(id, { signal }));
      await take(turns, 3);
      const parent = present(ids[0]);
      const branch = ['x', 'y'].map((payload) => ({ type: 't', payload }));
      await contexts.appendBatch(id, branch, { parent });
      const jumped = await take(turns, 2);
      expect(payloadsOf(jumped)).toEqual(['x', 'y']);
      expect(jumped[0]?.parent).toBe(parent);
      const back = { type: 't', payload: 'd' };
      await contexts.append(id, back, { parent: present(ids[2]) });
      expect(payloadsOf(await take(turns, 3))).toEqual(['b', 'c', 'd']);
    });

    it('visits every branch the head went to while nobody looked', async () => {
      const { contexts, id, ids } = await openWith(target, 'a', 'b');
      const turns = iterate((signal) => contexts.follow(id, { signal }));
      await take(turns, 2);
      for (const payload of ['x', 'y', 'z']) {
        await contexts.append(id, { type: 't', payload }, { parent: present(ids[1]) });
      }
      expect(payloadsOf(await take(turns, 3))).toEqual(['x', 'y', 'z']);
    });

    it('ends when the signal aborts, also before it began', async () => {
      const { contexts, id } = await openWith(target, 'a');
      const controller = new AbortController();
      const turns = contexts.follow(id, { signal: controller.signal })[Symbol.asyncIterator]();
      expect(payloadsOf(await take(turns, 1))).toEqual(['a']);
      setTimeout(() => controller.abort(), 5);
      expect(await turns.next()).toMatchObject({ done: true });
      expect(await collect(contexts.follow(id, { signal: controller.signal }))).toEqual([]);
    });

    it('ends when the store closes or the context is removed', async () => {
      const { store, contexts, id } = await openWith(target, 'a');
      const other = await contexts.create();
      await appendAll(contexts, other.id, ['b']);
      const removed = contexts.follow(other.id)[Symbol.asyncIterator]();
      const closed = contexts.follow(id)[Symbol.asyncIterator]();
      expect(payloadsOf([...(await take(removed, 1)), ...(await take(closed, 1))])).toEqual([
        'b',
        'a',
      ]);
      await contexts.remove(other.id);
      expect(await removed.next()).toMatchObject({ done: true });
      await store.close();
      expect(await closed.next()).toMatchObject({ done: true });
    });

    it('tells of opened turns when asked, and again when they are sealed', async () => {
      const { contexts, id } = await openWith(target, 'a');
      const first = await contexts.open(id, { type: 't' });
      const turns = iterate((signal) => contexts.follow(id, { signal, openTurns: true }));
      const said = (list: readonly Turn[]) => list.map((turn) => [turn.id, turn.state]);
      expect(said(await take(turns, 2))).toEqual([
        [1n, 'sealed'],
        [first.id, 'open'],
      ]);
      await first.seal();
      expect(said(await take(turns, 1))).toEqual([[first.id, 'sealed']]);
      const next = take(turns, 1);
      const second = await contexts.open(id, { type: 't' });
      expect(said(await next)).toEqual([[second.id, 'open']]);
      const plain = iterate((signal) => contexts.follow(id, { signal, after: first.id }));
      const sealed = take(plain, 1);
      await second.seal();
      expect(said(await sealed)).toEqual([[second.id, 'sealed']]);
    });

    const textOf = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString();

    it('follows the text of an open turn until it is sealed', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, { type: 't' });
      await open.write('one ');
      const early = collect(contexts.followOpen(open.id));
      await open.write('two ');
      const late = collect(contexts.followOpen(open.id));
      void open.write('three ');
      void open.write('four');
      await open.seal();
      for (const reader of [early, late]) expect(textOf(await reader)).toBe('one two three four');
      expect(textOf(await collect(contexts.followOpen(open.id)))).toBe('one two three four');
    });

    it('hands text out while the turn is open', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, { type: 't' });
      const pieces = iterate((signal) => contexts.followOpen(open.id, { signal }));
      for (const text of ['a', 'b', 'c']) {
        const next = take(pieces, 1);
        await open.write(text);
        expect(textOf(await next)).toBe(text);
      }
      await open.abort('enough');
      expect(await pieces.next()).toMatchObject({ done: true });
    });

    it('gives a long text in pieces to readers that are early, late and slow', async () => {
      const { contexts, id } = await openWith(target);
      const open = await contexts.open(id, { type: 't' });
      const words = Array.from({ length: 25 }, (_, n) => `${n} `.padEnd(40_000, 'x'));
      const slow = async function* (): AsyncGenerator<Uint8Array> {
        for await (const piece of contexts.followOpen(open.id)) {
          await new Promise((resolve) => setImmediate(resolve));
          yield piece;
        }
      };
      const readers = [collect(contexts.followOpen(open.id)), collect(slow())];
      for (const [n, word] of words.entries()) {
        await open.write(word);
        if (n % 10 === 5) readers.push(collect(contexts.followOpen(open.id)));
      }
      await open.seal();
      for (const pieces of await Promise.all(readers)) {
        expect(textOf(pieces) === words.join('')).toBe(true);
        expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(32_768);
      }
    });

    it('ends when the signal aborts or the store closes', async () => {
      const { store, contexts, id } = await openWith(target);
      const open = await contexts.open(id, { type: 't' });
      const controller = new AbortController();
      const stopped = collect(contexts.followOpen(open.id, { signal: controller.signal }));
      const closed = collect(contexts.followOpen(open.id));
      setTimeout(() => controller.abort(), 5);
      expect(await stopped).toEqual([]);
      await store.close();
      expect(await closed).toEqual([]);
    });
  });
}
