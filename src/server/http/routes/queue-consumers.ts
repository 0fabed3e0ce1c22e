import { z } from 'zod';
import { EXAMPLE_EVENT, PAGE_BYTES, eventJson, openQueue, queueParams } from './queue-schemas.ts';
import { defineRoute } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';

const params = z.strictObject({ name: z.string(), consumer: z.string() });
const row = z.strictObject({
  consumer_id: z.string(),
  handler_cmd: z.string(),
  filter: z.string().nullable(),
});
const EXAMPLE_ROW = {
  consumer_id: 'worker-1',
  handler_cmd: './work.sh',
  filter: "type = 'message'",
};
const progress = z.strictObject({
  consumer_id: z.string(),
  last_acked_id: z.int(),
  updated_at: z.string().nullable(),
  lag: z.int().nullable(),
  state: z.enum(['idle', 'running', 'failed']),
  handler: z.strictObject({ pid: z.int(), since: z.string() }).optional(),
  failures: z.int(),
  last_error: z.string().nullable(),
});

export const queueConsumerRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/v1/queues/:name',
    name: 'queueInfo',
    summary: 'The number of events, the consumers, and how far each one is',
    params: queueParams,
    answer: {
      what: 'The queue',
      json: z.strictObject({
        thread: z.string(),
        event_count: z.int(),
        last_event_id: z.int(),
        subscriptions: z.array(row),
        progress: z.array(progress),
      }),
      example: {
        thread: '/data/queues/inbox',
        event_count: 42,
        last_event_id: 42,
        subscriptions: [EXAMPLE_ROW],
        progress: [],
      },
    },
    give: async ({ params: { name }, store }) => (await openQueue(store, name)).info(),
  }),
  defineRoute({
    method: 'put',
    path: '/v1/queues/:name/consumers/:consumer',
    name: 'subscribeConsumer',
    summary: 'Register a consumer. Its handler is a command that the server runs',
    needs: 'handlers',
    params,
    body: {
      json: z.strictObject({ handler: z.string(), filter: z.string().nullable().optional() }),
      example: { handler: './work.sh', filter: "type = 'message'" },
    },
    answer: { status: 201, what: 'The subscription', json: row, example: EXAMPLE_ROW },
    give: async ({ params: { name, consumer }, body, store }) =>
      (await openQueue(store, name)).subscribe({ consumer, ...body }),
  }),
  defineRoute({
    method: 'delete',
    path: '/v1/queues/:name/consumers/:consumer',
    name: 'unsubscribeConsumer',
    summary: 'Remove a consumer; its progress stays',
    needs: 'admin',
    params,
    answer: { status: 204, what: 'It is gone' },
    give: async ({ params: { name, consumer }, store }) =>
      (await openQueue(store, name)).unsubscribe(consumer),
  }),
  defineRoute({
    method: 'post',
    path: '/v1/queues/:name/consumers/:consumer/pop',
    name: 'popEvents',
    summary: 'Acknowledge the events that were handled, and get the next ones',
    params,
    body: {
      json: z.strictObject({
        last_event_id: z.int().min(0),
        limit: z.int().min(1).optional(),
        fence: z.int().min(1).optional(),
      }),
      example: { last_event_id: 41, limit: 10 },
    },
    answer: {
      what: 'Events for this consumer, oldest first',
      json: z.strictObject({ events: z.array(eventJson) }),
      example: { events: [EXAMPLE_EVENT] },
    },
    async give({ params: { name, consumer }, body, store }) {
      const { last_event_id: lastEventId, ...options } = body;
      const queue = await openQueue(store, name);
      return {
        events: await queue.pop(consumer, { lastEventId, maxBytes: PAGE_BYTES, ...options }),
      };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/v1/queues/:name/dispatch',
    name: 'dispatchQueue',
    summary: 'Start the handlers that have events to handle, as a push does',
    params: queueParams,
    answer: {
      what: 'Who was started, and who was not and why',
      json: z.strictObject({
        started: z.array(z.string()),
        skipped: z.array(z.strictObject({ consumer: z.string(), reason: z.string() })),
      }),
      example: { started: ['worker-1'], skipped: [] },
    },
    give: async ({ params: { name }, store }) => (await openQueue(store, name)).dispatch(),
  }),
];
