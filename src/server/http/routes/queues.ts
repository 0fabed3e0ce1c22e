import { z } from 'zod';
import type { Queue, QueueEvent } from '../../../queue/events/queue.ts';
import type { Store } from '../../../store/store.ts';
import { ANSWER_BYTES } from '../../calls/check-args.ts';
import { countAt, eventReply, named, reopened, resumeAt } from '../exchange/event-stream.ts';
import type { SentEvent } from '../exchange/event-stream.ts';
import { EXAMPLES, route, routesAt } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { count } from '../exchange/schemas.ts';

const ofQueue = routesAt('/v1/queues/:name', {});
/** Ids of events are numbers: a queue that got one every microsecond would take 285 years to run out of them. */
const eventJson = z
  .strictObject({
    id: z.int().min(1),
    created_at: z.string(),
    source: z.string(),
    type: z.string(),
    subtype: z.string().nullable(),
    content: z.string(),
  })
  .describe('An event of a queue')
  .register(EXAMPLES, {
    id: 42,
    created_at: '2026-03-18T10:30:00.123Z',
    source: 'internal:dm:default:warden',
    type: 'message',
    subtype: null,
    content: 'hello',
  });
const newEvent = z.strictObject({
  source: z.string(),
  type: z.enum(['message', 'record']),
  subtype: z.string().nullable().optional(),
  content: z.string(),
});
/** The bytes of events that one answer holds; the next answer begins after its last event. */
const PAGE_BYTES = ANSWER_BYTES;
const summary = z.strictObject({
  name: z.string(),
  event_count: z.int(),
  last_event_id: z.int(),
  subscriptions: z.int(),
});
const filter = z.string().optional().describe(`Such as type = 'message'`);
const body = z.union([newEvent, z.strictObject({ events: z.array(newEvent) })]);
const EXAMPLE_ROW = {
  consumer_id: 'worker-1',
  handler_cmd: './work.sh',
  filter: "type = 'message'",
};
const row = z
  .strictObject({
    consumer_id: z.string(),
    handler_cmd: z.string(),
    filter: z.string().nullable(),
  })
  .register(EXAMPLES, EXAMPLE_ROW);
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

export const queueRoutes: readonly Route[] = [
  route.get('/v1/queues', {
    name: 'listQueues',
    summary: 'Queues by name',
    answer: {
      what: 'The queues',
      json: z.strictObject({ queues: z.array(summary) }),
      example: {
        queues: [{ name: 'inbox', event_count: 42, last_event_id: 42, subscriptions: 1 }],
      },
    },
    give: async ({ store }) => ({ queues: await store.queues.list() }),
  }),
  ofQueue.put('', {
    name: 'createQueue',
    summary: 'Create a queue, if it does not exist',
    answer: { status: 204, what: 'It is there' },
    give: ({ params: { name }, store }) => store.queues.open(name),
  }),
  ofQueue.get('/events', {
    name: 'peekQueue',
    summary: 'Events, without changing anything',
    query: z.strictObject({ after: count.optional(), limit: count.optional(), filter }),
    answer: {
      what: 'Events after `after` that match, oldest first',
      json: z.strictObject({ events: z.array(eventJson) }),
    },
    async give({ params: { name }, query: { after = 0, ...options }, store }) {
      const queue = await openQueue(store, name);
      return { events: await queue.peek({ lastEventId: after, maxBytes: PAGE_BYTES, ...options }) };
    },
  }),
  ofQueue.post('/events', {
    name: 'pushEvents',
    summary: 'Push one event, or many at once',
    body: {
      json: body,
      example: { source: 'internal:dm:default:warden', type: 'message', content: 'hello' },
    },
    answer: {
      status: 201,
      what: '`id` of the one event, or `ids` of all: they are stored together',
      json: z.union([z.strictObject({ id: z.int() }), z.strictObject({ ids: z.array(z.int()) })]),
      example: { id: 42 },
    },
    async give({ params: { name }, body: pushed, store }) {
      const queue = await openQueue(store, name);
      if ('events' in pushed) return { ids: await queue.pushBatch(pushed.events) };
      return { id: await queue.push(pushed) };
    },
  }),
  ofQueue.get('/follow', {
    name: 'followQueue',
    summary: 'Events, those there and those to come, as server-sent events',
    headers: { 'Last-Event-ID': 'Go on after that event, also across a restart of the server' },
    query: z.strictObject({
      after: z.string().optional().describe('As Last-Event-ID'),
      filter,
    }),
    answer: { what: 'Each event with its id', type: 'text/event-stream' },
    async run({ params: { name }, query, request, store }) {
      const queue = await openQueue(store, name);
      const after = resumeAt(request, query.after);
      const lastEventId = countAt(after, 'after', 'must be the id of an event');
      const chosen = query.filter === undefined ? {} : { filter: query.filter };
      // An invalid position or filter is an error of the request, so it is found before the stream begins.
      await queue.peek({ lastEventId, limit: 1, maxBytes: 1, ...chosen });
      const { signal } = request;
      const open = (from = String(lastEventId)): AsyncIterable<SentEvent> =>
        named('event', queue.follow({ lastEventId: Number(from), signal, ...chosen }), idOf);
      return eventReply(reopened(open, request), request);
    },
  }),
  ofQueue.get('', {
    name: 'queueInfo',
    summary: 'The number of events, the consumers, and how far each one is',
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
  ofQueue.put('/consumers/:consumer', {
    name: 'subscribeConsumer',
    summary: 'Register a consumer. Its handler is a command that the server runs',
    needs: 'handlers',
    body: {
      json: z.strictObject({ handler: z.string(), filter: z.string().nullable().optional() }),
      example: { handler: './work.sh', filter: "type = 'message'" },
    },
    answer: { status: 201, what: 'The subscription', json: row },
    give: async ({ params: { name, consumer }, body, store }) =>
      (await openQueue(store, name)).subscribe({ consumer, ...body }),
  }),
  ofQueue.delete('/consumers/:consumer', {
    name: 'unsubscribeConsumer',
    summary: 'Remove a consumer; its progress stays',
    needs: 'admin',
    answer: { status: 204, what: 'It is gone' },
    give: async ({ params: { name, consumer }, store }) =>
      (await openQueue(store, name)).unsubscribe(consumer),
  }),
  ofQueue.post('/consumers/:consumer/pop', {
    name: 'popEvents',
    summary: 'Acknowledge the events that were handled, and get the next ones',
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
    },
    async give({ params: { name, consumer }, body, store }) {
      const { last_event_id: lastEventId, ...options } = body;
      const queue = await openQueue(store, name);
      return {
        events: await queue.pop(consumer, { lastEventId, maxBytes: PAGE_BYTES, ...options }),
      };
    },
  }),
  ofQueue.post('/dispatch', {
    name: 'dispatchQueue',
    summary: 'Start the handlers that have events to handle, as a push does',
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

function idOf({ id }: QueueEvent): number {
  return id;
}

/** Opens a queue that exists. */
function openQueue({ queues }: Store, name: string): Promise<Queue> {
  return queues.open(name, { create: false });
}
