import { z } from 'zod';
import { jsonReply, route, EXAMPLES, routesAt } from '../exchange/route.ts';
import type { Reply, Route, RoutesAt } from '../exchange/route.ts';
import { count, pageOf } from '../exchange/schemas.ts';

const time = z.string().describe('ISO 8601, UTC');

const chatId: z.ZodString = z.string().describe('The id of a chat');

export const ofChat: RoutesAt<'/v1/chats/:id', { id: typeof chatId }> = routesAt('/v1/chats/:id', {
  id: chatId,
});

const infoShape = {
  id: z.string(),
  title: z.string(),
  createdAt: time,
  updatedAt: time,
  pinned: z.boolean(),
  archivedAt: time.optional(),
  events: z.int().min(0),
  bytes: z.int().min(0),
};

const AT = '2026-11-15T12:00:00.000Z';
const EXAMPLE = {
  id: '01kaa2w5cw3q7a5h8w6j9n0c1d',
  title: 'fix the parser',
  createdAt: AT,
  updatedAt: AT,
  pinned: false,
  events: 2,
  bytes: 512,
};

export const chatJson: z.ZodType = z.strictObject(infoShape).register(EXAMPLES, EXAMPLE);

export const statusJson: z.ZodType = z
  .strictObject({
    ...infoShape,
    messages: z.int().min(0),
    usage: z.looseObject({}),
    clarification: z.looseObject({}),
    branches: z.array(z.looseObject({})),
    problems: z.int().min(0),
  })
  .register(EXAMPLES, {
    ...EXAMPLE,
    messages: 2,
    usage: { events: 2, inputTokens: 0, outputTokens: 0 },
    clarification: { answered: 0, dismissed: 0 },
    branches: [],
    problems: 0,
  });

export const messageJson: z.ZodType = z
  .strictObject({
    id: z.string(),
    seq: z.int().min(1),
    at: z.string(),
    role: z.string(),
    branch: z.string(),
    content: z.string(),
    state: z.enum(['complete', 'streaming']),
    interrupted: z.literal(true).optional(),
    edits: z.int().min(0),
    redacted: z.strictObject({ reason: z.string(), erased: z.boolean() }).optional(),
    attachments: z.array(z.looseObject({ id: z.string(), hash: z.string() })),
    missing: z.literal(true).optional(),
    damaged: z.string().optional(),
  })
  .register(EXAMPLES, {
    id: '01kaa2w5cw3q7a5h8w6j9n0c1e',
    seq: 1,
    at: AT,
    role: 'user',
    branch: 'main',
    content: 'hi',
    state: 'complete',
    edits: 0,
    attachments: [],
  });

export const eventJson: z.ZodType = z
  .strictObject({
    schema_version: z.int().min(1),
    seq: z.int().min(1),
    event_id: z.string(),
    at: time,
    type: z.string(),
    payload: z.looseObject({}),
  })
  .describe('An event as it stands in the log')
  .register(EXAMPLES, {
    schema_version: 1,
    seq: 3,
    event_id: '01KAA2W5CW3Q7A5H8W6J9N0C1F',
    at: AT,
    type: 'message_edited',
    payload: { message_id: '01kaa2w5cw3q7a5h8w6j9n0c1e', content: 'hello' },
  });

export const problemJson: z.ZodType = z
  .strictObject({
    seq: z.int().min(0),
    kind: z.string(),
    message: z.string(),
    type: z.string().optional(),
  })
  .register(EXAMPLES, { seq: 7, kind: 'newer-version', message: 'version 2 is newer' });

export const questionBody: z.ZodType = z.looseObject({
  id: z.string(),
  text: z.string(),
  kind: z.enum(['single', 'multiple', 'yes_no', 'text']),
  options: z.array(z.string()).optional(),
});

export const batchJson: z.ZodType = z
  .strictObject({
    batch_id: z.string(),
    seq: z.int().min(1),
    at: z.string(),
    title: z.string().optional(),
    questions: z.array(z.looseObject({ id: z.string(), text: z.string(), kind: z.string() })),
    state: z.enum(['open', 'answered', 'dismissed', 'replaced']),
    closedAt: z.string().optional(),
    reason: z.string().optional(),
    redacted: z.literal(true).optional(),
  })
  .register(EXAMPLES, {
    batch_id: '01kaa2w5cw3q7a5h8w6j9n0c1g',
    seq: 3,
    at: AT,
    questions: [{ id: 'q1', text: 'Sure?', kind: 'yes_no', answer: 'yes' }],
    state: 'answered',
    closedAt: AT,
  });

export const typeJson: z.ZodType = z
  .strictObject({
    type: z.string(),
    about: z.string(),
    since: time,
  })
  .register(EXAMPLES, { type: 'app.note', about: 'a note of the app', since: AT });

export const chatRoutes: readonly Route[] = [
  route.get('/v1/chats', {
    name: 'listChats',
    summary: 'Chats, by id',
    query: z.strictObject({ limit: count.optional(), cursor: z.string().optional() }),
    answer: { what: 'A page; `cursor` is there when more may follow', json: pageOf(chatJson) },
    give: ({ query, store }) => store.chats.list(query),
  }),

  route.post('/v1/chats', {
    name: 'createChat',
    summary: 'Begin a chat',
    body: {
      json: z.strictObject({
        id: z.string().optional(),
        title: z.string().optional(),
        pinned: z.boolean().optional(),
      }),
      optional: true,
      example: { title: 'fix the parser' },
    },
    answer: { status: 201, what: 'The new chat', json: chatJson },
    run: async ({ body, store }) => created(await store.chats.create(body)),
  }),

  route.get('/v1/chat-types', {
    name: 'listChatTypes',
    summary: 'Types of chat events that programs have registered',
    answer: { what: 'All of them, by name', json: z.strictObject({ types: z.array(typeJson) }) },
    give: async ({ store }) => ({ types: await store.chats.types() }),
  }),

  route.put('/v1/chat-types/:type', {
    name: 'registerChatType',
    summary: 'Register a type of chat events',
    body: {
      json: z.strictObject({ about: z.string().optional() }),
      optional: true,
      example: { about: 'a note of the app' },
    },
    answer: { what: 'The type', json: typeJson },
    give: ({ params: { type }, body, store }) => store.chats.registerType(type, body),
  }),

  route.delete('/v1/chat-types/:type', {
    name: 'forgetChatType',
    summary: 'Remove a registered type; its events stay',
    answer: { status: 204, what: 'It is off the list' },
    give: ({ params: { type }, store }) => store.chats.forgetType(type),
  }),

  route.post('/v1/chats/import', {
    name: 'importChat',
    summary: 'Make a chat from one that was exported as JSON',
    query: z.strictObject({ id: z.string().optional().describe('Another id than it had') }),
    body: {
      json: z.looseObject({ quipu_chat: z.literal(1), events: z.array(z.unknown()) }),
      example: { quipu_chat: 1, meta: { session_id: 'c1' }, events: [] },
    },
    answer: { status: 201, what: 'The new chat', json: chatJson },
    run: async ({ query, body, store }) => created(await store.chats.import(body, query)),
  }),

  route.post('/v1/chats/retain', {
    name: 'retainChats',
    summary: 'Archive chats by age and size, or remove them',
    needs: 'admin',
    body: {
      json: z.strictObject({
        maxAgeMs: z.number().min(0).optional(),
        maxBytes: z.number().min(0).optional(),
        action: z.enum(['archive', 'remove']).optional(),
        dryRun: z.boolean().optional(),
      }),
      example: { maxAgeMs: 7_776_000_000, dryRun: true },
    },
    answer: {
      what: 'What was archived or removed',
      json: z.looseObject({ chats: z.array(chatJson) }),
      example: { action: 'archive', chats: [], kept: 3, pinned: 1, damaged: [], dryRun: true },
    },
    give: ({ body: { dryRun = false, ...policy }, store }) =>
      store.chats.retain(policy, { dryRun }),
  }),

  ofChat.get('', {
    name: 'getChat',
    summary: 'A chat: counts, usage, branches, and the questions it waits for',
    answer: { what: 'The chat', json: statusJson },
    async run({ params: { id }, store }) {
      const status = await (await store.chats.open(id)).status();
      return jsonReply(status, { headers: { ETag: `"${status.events}"` } });
    },
  }),

  ofChat.patch('', {
    name: 'updateChat',
    summary: 'Change the title of a chat, or pin it',
    body: {
      json: z.strictObject({ title: z.string().optional(), pinned: z.boolean().optional() }),
      example: { pinned: true },
    },
    answer: { what: 'As it is now', json: chatJson },
    give: async ({ params: { id }, body, store }) => (await store.chats.open(id)).update(body),
  }),

  ofChat.delete('', {
    name: 'removeChat',
    summary: 'Remove a chat; its blobs go with the next collection',
    answer: { status: 204, what: 'It is gone' },
    give: ({ params: { id }, store }) => store.chats.remove(id),
  }),

  ofChat.get('/problems', {
    name: 'chatProblems',
    summary: 'What is wrong in a chat, and where',
    answer: {
      what: 'All that was found',
      json: z.strictObject({ problems: z.array(problemJson) }),
    },
    give: async ({ params: { id }, store }) => ({
      problems: await (await store.chats.open(id)).problems(),
    }),
  }),

  ofChat.get('/export', {
    name: 'exportChat',
    summary: 'A chat as readable Markdown, or all of it as JSON',
    query: z.strictObject({
      format: z.enum(['markdown', 'json']).optional().describe('Default markdown'),
      branch: z.string().optional().describe('Of Markdown: a branch, or "*"'),
    }),
    answer: { what: 'The text', type: 'text/markdown' },
    async run({ params: { id }, query, request, store }) {
      const chat = await store.chats.open(id);
      const type = query.format === 'json' ? 'application/json' : 'text/markdown; charset=utf-8';
      return { type, body: request.room.texts(chat.export(query)) };
    },
  }),

  ...(['archive', 'unarchive'] as const).map((verb) =>
    ofChat.post(`/${verb}`, {
      name: `${verb}Chat`,
      summary:
        verb === 'archive'
          ? 'Compress a chat; from then on it can only be read'
          : 'Make an archived chat writable again',
      answer: { what: 'As it is now', json: chatJson },
      give: async ({ params: { id }, store }) => (await store.chats.open(id))[verb](),
    }),
  ),
];

function created(chat: { readonly id: string }): Reply {
  return jsonReply(chat, { headers: { Location: `/v1/chats/${chat.id}` } });
}
