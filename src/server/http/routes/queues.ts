import { z } from 'zod';
import { invalid } from '../../../base/errors.ts';
import type { QueueEvent } from '../../../queue/events/queue.ts';
import { eventReply, reopened, resumeAt } from '../exchange/event-stream.ts';
import type { SentEvent } from '../exchange/event-stream.ts';
import {
  EXAMPLE_EVENT,
  PAGE_BYTES,
  eventJson,
  newEvent,
  openQueue,
  queueParams,
} from './queue-schemas.ts';
import { defineRoute } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { count } from '../exchange/schemas.ts';

const params = queueParams;
const summary = z.strictObject({
  name: z.string(),
  event_count: z.int(),
  last_event_id: z.int(),
  subscriptions: z.int(),
});
const filter = z.string().optional().describe(`Such as type = 'message'`);
const body = z.union([newEvent, z.strictObject({ events: z.array(newEvent) })]);

export const queueRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/v1/queues',
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
  defineRoute({
    method: 'put',
    path: '/v1/queues/:name',
    name: 'createQueue',
    summary: 'Create a queue, if it does not exist',
    params,
    answer: { status: 204, what: 'It is there' },
    give: ({ params: { name }, store }) => store.queues.open(name),
  }),
  defineRoute({
    method: 'get',
    path: '/v1/queues/:name/events',
    name: 'peekQueue',
    summary: 'Events, without changing anything',
    params,
    query: z.strictObject({ after: count.optional(), limit: count.optional(), filter }),
    answer: {
      what: 'Events after `after` that match, oldest first',
      json: z.strictObject({ events: z.array(eventJson) }),
      example: { events: [EXAMPLE_EVENT] },
    },
    async give({ params: { name }, query: { after = 0, ...options }, store }) {
      const queue = await openQueue(store, name);
      return { events: await queue.peek({ lastEventId: after, maxBytes: PAGE_BYTES, ...options }) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/v1/queues/:name/events',
    name: 'pushEvents',
    summary: 'Push one event, or many at once',
    params,
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
  defineRoute({
    method: 'get',
    path: '/v1/queues/:name/follow',
    name: 'followQueue',
    summary: 'Events, those there and those to come, as server-sent events',
    headers: { 'Last-Event-ID': 'Go on after that event, also across a restart of the server' },
    params,
    query: z.strictObject({
      after: z.string().optional().describe('As Last-Event-ID'),
      filter,
    }),
    answer: { what: 'Each event with its id', type: 'text/event-stream' },
    async run({ params: { name }, query, request, store }) {
      const queue = await openQueue(store, name);
      const lastEventId = toEventId(resumeAt(request, query.after));
      const chosen = query.filter === undefined ? {} : { filter: query.filter };
      // An invalid position or filter is an error of the request, so it is found before the stream begins.
      await queue.peek({ lastEventId, limit: 1, maxBytes: 1, ...chosen });
      const { signal } = request;
      const open = (after = String(lastEventId)): AsyncIterable<SentEvent> =>
        toSent(queue.follow({ lastEventId: Number(after), signal, ...chosen }));
      return eventReply(reopened(open, request), request);
    },
  }),
];

async function* toSent(
  events: AsyncIterable<QueueEvent>,
): AsyncGenerator<SentEvent, void, undefined> {
  for await (const event of events) yield { id: String(event.id), event: 'event', data: event };
}

function toEventId(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,15}$/.test(text)) throw invalid('after', 'must be the id of an event');
  return Number(text);
}
