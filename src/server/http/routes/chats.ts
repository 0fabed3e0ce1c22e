import { z } from 'zod';
import { ofChat, chatJson, problemJson, statusJson, typeJson } from './chat-schemas.ts';
import { jsonReply, route } from '../exchange/route.ts';
import type { Reply, Route } from '../exchange/route.ts';
import { count, pageOf } from '../exchange/schemas.ts';

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
