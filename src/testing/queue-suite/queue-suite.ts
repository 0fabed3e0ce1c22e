import { describe, expect, it } from 'vitest';
import { failure } from '../engine-suite/fixture.ts';
import { consumerSuite } from './consumers.ts';
import { eventSuite } from './events.ts';
import { message, openQueues } from './fixture.ts';
import type { QueueTarget } from './queue-target.ts';

/** The contract of `Queues` as tests. Call this in a test file, once for each kind of place. */
export function queueSuite(target: QueueTarget): void {
  describe(`queues: ${target.name}`, () => {
    it('are found by name, and made when they are not there', async () => {
      const { queues, elsewhere } = await openQueues(target);
      expect(await queues.list()).toEqual([]);
      await failure(queues.open('inbox', { create: false }), 'NOT_FOUND');
      await failure(queues.open('No/Such'), 'INVALID');
      const [one] = await Promise.all([queues.open('inbox'), elsewhere.open('inbox')]);
      await queues.open('a');
      await one.subscribe({ consumer: 'w', handler: 'true' });
      await (await elsewhere.open('inbox', { create: false })).push(message('1'));
      expect(await queues.list()).toEqual([
        { name: 'a', event_count: 0, last_event_id: 0, subscriptions: 0 },
        { name: 'inbox', event_count: 1, last_event_id: 1, subscriptions: 1 },
      ]);
    });

    eventSuite(target);
    consumerSuite(target);
  });
}
