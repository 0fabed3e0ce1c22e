import { z } from 'zod';
import { invalid } from '../../../base/errors.ts';
import type { NewEvent, QueueEvent } from '../../../queue/events/queue.ts';
import { given } from '../exchange/conditions.ts';
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
import { defineRoute, jsonReply } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';

const params = queueParams;
const summary = z.strictObject({
  name: z.string(),
  event_count: z.int(),
  last_event_id: z.int(),
  subscriptions: z.int(),
});
const whole = z
  .string()
  .regex(/^\d{1,15}$/, 'is a whole number')
  .transform(Number);
const filter = z.string().optional().describe(`Such as type = 'message'`);
const body = z.union([newEvent, z.strictObject({ events: z.array(newEvent) })]);

export const queueRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/v1/queues',
    name: 'listQueues',
    summary: 'Queues by name',
    needs: 'read',
    answer: {
      what: 'The queues',
      json: z.strictObject({ queues: z.array(summary) }),
      example: {
        queues: [{ name: 'inbox', event_count: 42, last_event_id: 42, subscriptions: 1 }],
      },
    },
    async run({ request }) {
      return jsonReply({ queues: await request.service.served.store.queues.list() });
    },
  }),
  defineRoute({
    method: 'put',
    path: '/v1/queues/:name',
    name: 'createQueue',
    summary: 'Create a queue, if it does not exist',
    needs: 'write',
    params,
    answer: { status: 204, what: 'It is there' },
    async run({ params: { name }, request }) {
      await request.service.served.store.queues.open(name);
      return {};
    },
  }),
  defineRoute({
    method: 'get',
    path: '/v1/queues/:name/events',
    name: 'peekQueue',
    summary: 'Events, without changing anything',
    needs: 'read',
    params,
    query: z.strictObject({ after: whole.optional(), limit: whole.optional(), filter }),
    answer: {
      what: 'Events after `after` that match, oldest first',
      json: z.strictObject({ events: z.array(eventJson) }),
      example: { events: [EXAMPLE_EVENT] },
    },
    async run({ params: { name }, query, request }) {
      const { after = 0, ...options } = query;
      const queue = await openQueue(request, name);
      const page = { lastEventId: after, maxBytes: PAGE_BYTES, ...given(options) };
      return jsonReply({ events: await queue.peek(page as Parameters<typeof queue.peek>[0]) });
    },
  }),
  defineRoute({
    method: 'post',
    path: '/v1/queues/:name/events',
    name: 'pushEvents',
    summary: 'Push one event, or many at once',
    needs: 'write',
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
    async run({ params: { name }, body: pushed, request }) {
      const queue = await openQueue(request, name);
      if ('events' in pushed) {
        const ids = await queue.pushBatch(pushed.events as NewEvent[]);
        return jsonReply({ ids });
      }
      return jsonReply({ id: await queue.push(pushed as NewEvent) });
    },
  }),
  defineRoute({
    method: 'get',
    path: '/v1/queues/:name/follow',
    name: 'followQueue',
    summary: 'Events, those there and those to come, as server-sent events',
    needs: 'read',
    headers: { 'Last-Event-ID': 'Go on after that event, also across a restart of the server' },
    params,
    query: z.strictObject({
      after: z.string().optional().describe('As Last-Event-ID'),
      filter,
    }),
    answer: { what: 'Each event with its id', type: 'text/event-stream' },
    async run({ params: { name }, query, request }) {
      const queue = await openQueue(request, name);
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
