import { z } from 'zod';
import type { Chat } from '../../../chat/handle/chats.ts';
import type { ChatEvent } from '../../../chat/events/event.ts';
import { refOf } from '../../../chat/events/payloads.ts';
import type { Question } from '../../../chat/events/payloads.ts';
import { LINE_PAYLOAD_BYTES } from '../../../chat/events/limits.ts';
import { loadEvent } from '../../../chat/messages/find-messages.ts';
import { batchJson, ofChat, eventJson, problemJson, questionBody } from './chats.ts';
import { countAt, encodeEvent, eventReply, resumeAt } from '../exchange/event-stream.ts';
import type { SentEvent } from '../exchange/event-stream.ts';
import type { HttpRequest, Route } from '../exchange/route.ts';
import { count } from '../exchange/schemas.ts';

const newEvent = z.strictObject({
  type: z.string(),
  payload: z.looseObject({}),
  schemaVersion: z.int().min(1).optional(),
});

export const chatEventRoutes: readonly Route[] = [
  ofChat.get('/log', {
    name: 'readChatLog',
    summary: 'The events of a chat, without what was redacted',
    query: z.strictObject({
      after: count.optional().describe('Begin after this event'),
      limit: count.optional().describe('Default 1,000, at most 10,000'),
    }),
    answer: {
      what: 'A page; `next` goes into `after` when there is more',
      json: z.strictObject({
        events: z.array(eventJson),
        problems: z.array(problemJson),
        next: z.int().optional(),
      }),
    },
    give: async ({ params: { id }, query, store }) => (await store.chats.open(id)).events(query),
  }),

  ofChat.post('/log', {
    name: 'appendChatEvents',
    summary: 'Append events of any type, all or none',
    query: z.strictObject({ expectedSeq: count.optional().describe('The last event, else 409') }),
    body: {
      json: z.strictObject({ events: z.array(newEvent) }),
      example: { events: [{ type: 'vote_cast', payload: { choice: 'a' } }] },
    },
    answer: {
      status: 201,
      what: 'The events with their numbers',
      json: z.strictObject({ events: z.array(eventJson) }),
    },
    async give({ params: { id }, query, body, store }) {
      const chat = await store.chats.open(id);
      return { events: await chat.append(body.events, query) };
    },
  }),

  ofChat.get('/events', {
    name: 'followChat',
    summary: 'The events of a chat, those there and those to come, as server-sent events',
    headers: { 'Last-Event-ID': 'Go on after that event, also across a restart of the server' },
    query: z.strictObject({ after: z.string().optional().describe('As Last-Event-ID') }),
    answer: {
      what: 'Each has the name of its type; `end` when the chat is removed or archived',
      type: 'text/event-stream',
    },
    async run({ params: { id }, query, request, store }) {
      const asked = resumeAt(request, query.after);
      const after = countAt(asked, 'after', 'must be the number of an event');
      const chat = await store.chats.open(id);
      return eventReply(followed(chat, after, request), request);
    },
  }),

  ofChat.get('/clarifications', {
    name: 'listQuestions',
    summary: 'Batches of questions with their answers, open and closed',
    query: z.strictObject({
      before: count.optional().describe('Only batches before this event'),
      limit: count.optional().describe('Default 50, at most 1,000'),
    }),
    answer: {
      what: 'A page; `before` leads to the one before it',
      json: z.strictObject({ batches: z.array(batchJson), before: z.int().min(1).optional() }),
    },
    give: async ({ params: { id }, query, store }) =>
      (await store.chats.open(id)).clarifications(query),
  }),

  ofChat.post('/clarifications', {
    name: 'askQuestions',
    summary: 'Open a batch of questions',
    body: {
      json: z.strictObject({
        questions: z.array(questionBody),
        id: z.string().optional(),
        title: z.string().optional(),
      }),
      example: { questions: [{ id: 'q1', text: 'Sure?', kind: 'yes_no' }] },
    },
    answer: {
      status: 201,
      what: 'Its id',
      json: z.strictObject({ batch: z.string() }),
      example: { batch: '01kaa2w5cw3q7a5h8w6j9n0c1g' },
    },
    async give({ params: { id }, body: { questions, ...options }, store }) {
      const chat = await store.chats.open(id);
      return { batch: await chat.ask(questions as Question[], options) };
    },
  }),

  ofChat.post('/clarifications/:batch/answer', {
    name: 'answerQuestions',
    summary: 'Answer every question of the open batch',
    body: {
      json: z.strictObject({
        answers: z.array(
          z.strictObject({
            question_id: z.string(),
            value: z.union([z.string(), z.array(z.string())]),
          }),
        ),
      }),
      example: { answers: [{ question_id: 'q1', value: 'yes' }] },
    },
    answer: { what: 'The event', json: eventJson },
    give: async ({ params: { id, batch }, body, store }) =>
      (await store.chats.open(id)).answer(batch, body.answers),
  }),

  ofChat.post('/clarifications/:batch/dismiss', {
    name: 'dismissQuestions',
    summary: 'Close the open batch without answers',
    body: {
      json: z.strictObject({ reason: z.string().optional() }),
      optional: true,
      example: { reason: 'no longer needed' },
    },
    answer: { what: 'The event', json: eventJson },
    give: async ({ params: { id, batch }, body: { reason }, store }) =>
      (await store.chats.open(id)).dismiss(batch, reason),
  }),
];

async function* followed(
  chat: Chat,
  after: number,
  { room, signal, service }: HttpRequest,
): AsyncGenerator<SentEvent | Uint8Array, void, undefined> {
  const { engine } = service.served;
  for await (const event of chat.follow({ after, signal, maxPayload: LINE_PAYLOAD_BYTES })) {
    const { size = 0 } = refOf(event.payload) ?? {};
    if (size <= LINE_PAYLOAD_BYTES) yield toSent(event);
    else {
      yield* room.parts(size, async () => encodeEvent(toSent(await loadEvent(engine, event))));
    }
  }
}

function toSent(event: ChatEvent): SentEvent {
  // Types of events written here are words; types from elsewhere could be anything.
  const name = /^[\w.]+$/.test(event.type) ? event.type : 'event';
  return { id: String(event.seq), event: name, data: event };
}
