import { describe, expect, it } from 'vitest';
import { failure } from '../engine-suite/fixture.ts';
import { contents, message, openQueue } from './fixture.ts';
import type { QueueTarget } from './queue-target.ts';

export function consumerSuite(target: QueueTarget): void {
  describe('consumers', () => {
    it('each go on where they were, and get again what they did not acknowledge', async () => {
      const queue = await openQueue(target);
      await queue.subscribe({ consumer: 'all', handler: 'true' });
      await queue.subscribe({ consumer: 'some', handler: 'true', filter: "source LIKE 'a%'" });
      await queue.pushBatch([message('1', 'a'), message('2', 'b'), message('3', 'a')]);
      expect(contents(await queue.pop('all', { lastEventId: 0, limit: 2 }))).toEqual(['1', '2']);
      expect(contents(await queue.pop('some', { lastEventId: 0 }))).toEqual(['1', '3']);
      expect(contents(await queue.pop('all', { lastEventId: 0 }))).toEqual(['1', '2', '3']);
      expect(contents(await queue.pop('some', { lastEventId: 3 }))).toEqual([]);
      const info = await queue.info();
      expect(info).toMatchObject({ event_count: 3, last_event_id: 3 });
      expect(info.progress).toMatchObject([
        { consumer_id: 'all', last_acked_id: 0, lag: 3, state: 'idle', failures: 0 },
        { consumer_id: 'some', last_acked_id: 3, lag: 0, state: 'idle', last_error: null },
      ]);
    });

    it('are refused when there is none and when there is one, and get nothing past the end', async () => {
      const queue = await openQueue(target);
      await failure(queue.pop('w', { lastEventId: 0 }), 'NOT_FOUND');
      await failure(queue.unsubscribe('w'), 'NOT_FOUND');
      const row = { consumer_id: 'w', handler_cmd: 'true', filter: null };
      expect(await queue.subscribe({ consumer: 'w', handler: 'true' })).toEqual(row);
      await failure(queue.subscribe({ consumer: 'w', handler: 'false' }), 'EXISTS');
      await failure(queue.subscribe({ consumer: 'a/b', handler: 'true' }), 'INVALID');
      await failure(queue.subscribe({ consumer: 'x', handler: 'true', filter: '1' }), 'INVALID');
      await failure(queue.pop('w', { lastEventId: -1 }), 'INVALID');
      await failure(queue.pop('w', { lastEventId: 0, limit: 0 }), 'INVALID');
      expect((await queue.info()).progress).toMatchObject([{ updated_at: null }]);
      expect(await queue.peek({ lastEventId: 9 })).toEqual([]);
      expect(await queue.pop('w', { lastEventId: 9 })).toEqual([]);
      // This does not acknowledge later events.
      await queue.push(message('a'));
      expect((await queue.info()).progress).toMatchObject([{ last_acked_id: 0, lag: 1 }]);
      await queue.unsubscribe('w');
      expect((await queue.info()).subscriptions).toEqual([]);
    });

    it('keep their progress when they leave and come back', async () => {
      const queue = await openQueue(target);
      await queue.subscribe({ consumer: 'w', handler: 'true' });
      await queue.pushBatch([message('1'), message('2')]);
      await queue.pop('w', { lastEventId: 1 });
      await queue.unsubscribe('w');
      await failure(queue.pop('w', { lastEventId: 1 }), 'NOT_FOUND');
      expect((await queue.info()).progress).toMatchObject([{ last_acked_id: 1, lag: null }]);
      await queue.subscribe({ consumer: 'w', handler: 'true', filter: "content <> ''" });
      expect((await queue.info()).progress).toMatchObject([{ last_acked_id: 1, lag: 1 }]);
    });

    it('find what matches after a long stretch of what does not, also after going back', async () => {
      const queue = await openQueue(target);
      await queue.subscribe({ consumer: 'w', handler: 'true', filter: "content LIKE 'x%'" });
      const many = Array.from({ length: 3000 }, () => message('no'));
      await queue.pushBatch([message('x1'), ...many]);
      expect(contents(await queue.pop('w', { lastEventId: 0 }))).toEqual(['x1']);
      expect(await queue.pop('w', { lastEventId: 1 })).toEqual([]);
      // Now there is a bookmark at the end.
      await queue.push(message('x2'));
      expect(contents(await queue.pop('w', { lastEventId: 1 }))).toEqual(['x2']);
      expect(contents(await queue.pop('w', { lastEventId: 0 }))).toEqual(['x1', 'x2']);
      await queue.unsubscribe('w');
      await queue.subscribe({ consumer: 'w', handler: 'true', filter: "content = 'no'" });
      expect(await queue.pop('w', { lastEventId: 1, limit: 2 })).toHaveLength(2);
    });
  });
}
