import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NewEvent, QueueEvent } from '../../queue/events/queue.ts';
import { failure, present } from '../engine-suite/fixture.ts';
import { contents, message, openQueue, openQueues } from './fixture.ts';
import type { QueueTarget } from './queue-target.ts';

/**
 * Any character that text may have. fast-check's own `binary` first makes a table of all of them, which takes a second.
 */
const character = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code));

export function eventSuite(target: QueueTarget): void {
  describe('events', () => {
    it('come in the order they were pushed, in the words of the table', async () => {
      const queue = await openQueue(target);
      expect(await queue.push(message('a'))).toBe(1);
      const record = { source: 'x', type: 'record', subtype: 'toolcall', content: '{}' } as const;
      expect(await queue.pushBatch([record, message('c')])).toEqual([2, 3]);
      const events = await queue.peek({ lastEventId: 0 });
      expect(JSON.stringify(events[1])).toMatch(
        /^\{"id":2,"created_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","source":"x","type":"record","subtype":"toolcall","content":"\{\}"\}$/,
      );
      expect(events.map(({ id }) => id)).toEqual([1, 2, 3]);
      expect(Math.abs(Date.parse(events[0]!.created_at) - Date.now())).toBeLessThan(60_000);
      expect(contents(await queue.peek({ lastEventId: 1, limit: 1 }))).toEqual(['{}']);
      const filter = "type = 'record'";
      expect(contents(await queue.peek({ lastEventId: 0, filter }))).toEqual(['{}']);
    });

    it('have ids without a gap when many push at once, from two sides', async () => {
      const { queues, elsewhere } = await openQueues(target);
      const sides = [await queues.open('inbox'), await elsewhere.open('inbox')];
      const pushed = await Promise.all(
        Array.from({ length: 40 }, async (_, number) => {
          const queue = sides[number % 2]!;
          if (number % 5 !== 0) return [await queue.push(message(String(number)))];
          return queue.pushBatch([message(String(number)), message(String(number))]);
        }),
      );
      const events = await sides[0]!.peek({ lastEventId: 0 });
      expect(events.map(({ id }) => id)).toEqual(Array.from({ length: 48 }, (_, at) => at + 1));
      for (const [number, ids] of pushed.entries()) {
        for (const id of ids) expect(events[id - 1]!.content).toBe(String(number));
        expect(ids.at(-1)! - ids[0]!).toBe(ids.length - 1);
      }
      const times = events.map(({ created_at }) => created_at);
      expect(times).toEqual(times.toSorted());
    });

    it('are stored all of a batch or none, and no id is lost', async () => {
      const queue = await openQueue(target);
      await failure(queue.pushBatch([message('a'), { ...message('b'), source: '' }]), 'INVALID');
      expect(await queue.pushBatch([])).toEqual([]);
      await failure(queue.push({ ...message('a'), subtype: 'No' }), 'INVALID');
      expect(await queue.push(message('c'))).toBe(1);
    });

    it('keep every character', async () => {
      const queue = await openQueue(target);
      let lastEventId = await queue.push(message('a\0b\u{1}\u{1}\u{2}\0\0"\\{},NULL'));
      expect(contents(await queue.peek({ lastEventId: 0 }))).toEqual([
        'a\0b\u{1}\u{1}\u{2}\0\0"\\{},NULL',
      ]);
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.string({ unit: character }), { minLength: 1, maxLength: 8 }),
          async (texts) => {
            const ids = await queue.pushBatch(texts.map((text) => message(text)));
            const events = await queue.peek({ lastEventId, limit: 1000 });
            expect(contents(events)).toEqual(texts);
            lastEventId = ids.at(-1)!;
          },
        ),
        { numRuns: target.randomRuns ?? 20 },
      );
    });

    it('come in a smaller page when they are large', async () => {
      const queue = await openQueue(target);
      await queue.pushBatch(['a', 'b', 'c'].map((text) => message(text.repeat(1000))));
      expect(await queue.peek({ lastEventId: 0, maxBytes: 1500 })).toHaveLength(2);
      expect(await queue.peek({ lastEventId: 0, maxBytes: 1 })).toHaveLength(1);
    });

    it('are followed, from wherever they were pushed', async () => {
      const { queues, elsewhere } = await openQueues(target);
      const queue = await queues.open('inbox');
      const other = await elsewhere.open('inbox');
      const stop = new AbortController();
      const seen: string[] = [];
      const following = (async () => {
        for await (const event of queue.follow({ filter: "source = 'a'", signal: stop.signal })) {
          seen.push(event.content);
          if (seen.length === 2) await other.push(message('4', 'a'));
          if (seen.length === 3) stop.abort();
        }
      })();
      await queue.pushBatch([message('1', 'a'), message('2', 'b')]);
      await other.push(message('3', 'a'));
      await following;
      expect(seen).toEqual(['1', '3', '4']);
      const past = queue.follow({ lastEventId: -1 })[Symbol.asyncIterator]();
      await failure(past.next(), 'INVALID');
    });

    it('are followed until the queues are closed', async () => {
      const opened = await target.open();
      const queue = await opened.queues.open('inbox');
      await queue.push(message('1'));
      const following = queue.follow()[Symbol.asyncIterator]();
      expect(await following.next()).toMatchObject({ value: { content: '1' } });
      const next = following.next();
      await opened.close();
      expect(await next).toMatchObject({ done: true });
    });

    it('go from one queue to another as they are', async () => {
      const { queues } = await openQueues(target);
      const [from, to] = [await queues.open('from'), await queues.open('to')];
      await from.pushBatch([message('1'), { ...message('2'), subtype: 'late' }]);
      const events = (await from.peek({ lastEventId: 0 })) as (QueueEvent & NewEvent)[];
      await to.pushBatch(events);
      await to.push(present(events[1]));
      const taken = await to.peek({ lastEventId: 0 });
      expect(taken.map(({ id, content, subtype }) => [id, content, subtype])).toEqual([
        [1, '1', null],
        [2, '2', 'late'],
        [3, '2', 'late'],
      ]);
    });

    it('are selected by filters that are texts', async () => {
      const queue = await openQueue(target);
      for (const filter of [5, 5n, ['source']] as never[]) {
        await failure(queue.peek({ lastEventId: 0, filter }), 'INVALID');
      }
      await failure(queue.pop(5n as never, { lastEventId: 0 }), 'INVALID');
    });
  });
}
