import { z } from 'zod';
import type { NewSubscription, PopOptions } from '../../../queue/events/queue.ts';
import { given } from '../exchange/conditions.ts';
import { EXAMPLE_EVENT, PAGE_BYTES, eventJson, openQueue, queueParams } from './queue-schemas.ts';
import { defineRoute, jsonReply } from '../exchange/route.ts';
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
    needs: 'read',
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
    async run({ params: { name }, request }) {
      return jsonReply(await (await openQueue(request, name)).info());
    },
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
    async run({ params: { name, consumer }, body, request }) {
      const queue = await openQueue(request, name);
      const subscription = { consumer, ...given(body) } as NewSubscription;
      return jsonReply(await queue.subscribe(subscription));
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/v1/queues/:name/consumers/:consumer',
    name: 'unsubscribeConsumer',
    summary: 'Remove a consumer; its progress stays',
    needs: 'admin',
    params,
    answer: { status: 204, what: 'It is gone' },
    async run({ params: { name, consumer }, request }) {
      await (await openQueue(request, name)).unsubscribe(consumer);
      return {};
    },
  }),
  defineRoute({
    method: 'post',
    path: '/v1/queues/:name/consumers/:consumer/pop',
    name: 'popEvents',
    summary: 'Acknowledge the events that were handled, and get the next ones',
    needs: 'write',
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
    async run({ params: { name, consumer }, body, request }) {
      const { last_event_id: lastEventId, ...options } = body;
      const queue = await openQueue(request, name);
      const page = { lastEventId, maxBytes: PAGE_BYTES, ...given(options) } as PopOptions;
      return jsonReply({ events: await queue.pop(consumer, page) });
    },
  }),
  defineRoute({
    method: 'post',
    path: '/v1/queues/:name/dispatch',
    name: 'dispatchQueue',
    summary: 'Start the handlers that have events to handle, as a push does',
    needs: 'write',
    params: queueParams,
    answer: {
      what: 'Who was started, and who was not and why',
      json: z.strictObject({
        started: z.array(z.string()),
        skipped: z.array(z.strictObject({ consumer: z.string(), reason: z.string() })),
      }),
      example: { started: ['worker-1'], skipped: [] },
    },
    async run({ params: { name }, request }) {
      return jsonReply(await (await openQueue(request, name)).dispatch());
    },
  }),
];
