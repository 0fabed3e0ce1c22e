import { z } from 'zod';
import { notFound } from '../../../base/errors.ts';
import type { Chat, MessagePage } from '../../../chat/handle/chats.ts';
import { assertAllowed } from '../../access/access.ts';
import { ofChat, eventJson, messageJson, problemJson } from './chats.ts';
import { readUpload } from '../exchange/read-body.ts';
import { PART_BYTES } from '../exchange/answer-room.ts';
import { jsonReply } from '../exchange/route.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';
import { count } from '../exchange/schemas.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { begun } from '../exchange/turn-answer.ts';

const body = {
  json: z.strictObject({
    reason: z.string(),
    erase: z.boolean().optional(),
    everywhere: z.boolean().optional(),
  }),
  example: { reason: 'a password', erase: true },
};

const answer = {
  what: 'What was erased, and what stays because others use it',
  json: z.looseObject({ erasedLines: z.int(), kept: z.array(z.string()) }),
  example: { erasedLines: 2, erasedBlobs: 0, unreadableLines: 0, kept: [] },
} as const;

export const chatRedactionRoutes: readonly Route[] = [
  ofChat.post('/messages/:message/redact', {
    name: 'redactMessage',
    summary: 'Hide a message for good; with `erase` (scope admin) remove its text from the store',
    body,
    answer,
    async give({ params: { id, message }, body: wish, request, store }) {
      if (wish.erase === true) assertAllowed(request.identity, 'admin');
      return (await store.chats.open(id)).redact(message, wish);
    },
  }),

  ofChat.post('/clarifications/:batch/redact', {
    name: 'redactQuestions',
    summary: 'Hide a batch of questions with its answers; an open batch is dismissed',
    body,
    answer,
    async give({ params: { id, batch }, body: wish, request, store }) {
      if (wish.erase === true) assertAllowed(request.identity, 'admin');
      return (await store.chats.open(id)).redactBatch(batch, wish);
    },
  }),
];

const ANY_TYPE = 'application/octet-stream';

export const chatMessageRoutes: readonly Route[] = [
  ofChat.get('/messages', {
    name: 'listMessages',
    summary: 'The newest messages of a branch, in order',
    query: z.strictObject({
      branch: z.string().optional().describe('Default main; "*" for all'),
      before: count.optional().describe('Only messages before this event'),
      limit: count.optional().describe('Default 50, at most 1,000'),
    }),
    answer: {
      what: 'A page; `before` leads to the one before it',
      json: z.strictObject({
        messages: z.array(messageJson),
        damage: z.array(problemJson).optional(),
        before: z.int().min(1).optional(),
      }),
    },
    async run({ params: { id }, query, request, store }) {
      const chat = await store.chats.open(id);
      const page = await chat.messages({ ...query, maxContent: PART_BYTES });
      return messagesReply(chat, page, request);
    },
  }),

  ofChat.post('/messages', {
    name: 'addMessage',
    summary: 'Add a message to a chat',
    query: z.strictObject({ expectedSeq: count.optional().describe('The last event, else 409') }),
    body: {
      json: z.strictObject({
        role: z.string(),
        content: z.string(),
        branch: z.string().optional(),
        id: z.string().optional(),
        model: z.string().optional(),
        usage: z
          .strictObject({
            inputTokens: z.int().min(0).optional(),
            outputTokens: z.int().min(0).optional(),
          })
          .optional(),
      }),
      example: { role: 'user', content: 'hi' },
    },
    answer: { status: 201, what: 'The message', json: messageJson },
    give: async ({ params: { id }, query, body, store }) =>
      (await store.chats.open(id)).add(body, query),
  }),

  ofChat.get('/messages/:message', {
    name: 'getMessage',
    summary: 'One message',
    answer: { what: 'The message', json: messageJson },
    async give({ params: { id, message: name }, store }) {
      const message = await (await store.chats.open(id)).message(name);
      if (message !== undefined) return message;
      throw notFound('message', name, `the chat has no message ${name}`);
    },
  }),

  ofChat.put('/messages/:message', {
    name: 'editMessage',
    summary: 'Edit a message; the first text stays in the log',
    body: { json: z.strictObject({ content: z.string() }), example: { content: 'hello' } },
    answer: { what: 'The event', json: eventJson },
    give: async ({ params: { id, message }, body: { content }, store }) =>
      (await store.chats.open(id)).edit(message, content),
  }),

  ofChat.post('/messages/:message/complete', {
    name: 'completeMessage',
    summary: 'End a message that was begun and not completed',
    body: {
      json: z.strictObject({
        content: z.string().optional().describe('Default: the text that the message has'),
        interrupted: z.boolean().optional().describe('The text may be cut short'),
      }),
      optional: true,
      example: { interrupted: true },
    },
    answer: { what: 'The event', json: eventJson },
    give: async ({ params: { id, message }, body: { content, ...more }, store }) =>
      (await store.chats.open(id)).complete(message, content, more),
  }),

  ofChat.post('/messages/:message/fork', {
    name: 'forkChat',
    summary: 'Create a branch after a message, or before it',
    body: {
      json: z.strictObject({ branch: z.string().optional(), before: z.boolean().optional() }),
      optional: true,
      example: { branch: 'try2' },
    },
    answer: {
      status: 201,
      what: 'Its name',
      json: z.strictObject({ branch: z.string() }),
      example: { branch: 'try2' },
    },
    give: async ({ params: { id, message }, body, store }) => ({
      branch: await (await store.chats.open(id)).fork(message, body),
    }),
  }),

  ofChat.get('/search', {
    name: 'searchChat',
    summary: 'Messages by their text, newest first',
    query: z.strictObject({
      text: z.string(),
      branch: z.string().optional(),
      before: count.optional().describe('Only messages before this event'),
      limit: count.optional(),
    }),
    answer: {
      what: 'What was found; `before` leads on when there may be more',
      json: z.strictObject({
        messages: z.array(messageJson),
        before: z.int().min(1).optional(),
      }),
    },
    async run({ params: { id }, query: { text, ...options }, request, store }) {
      const chat = await store.chats.open(id);
      const page = await chat.search(text, { ...options, maxContent: PART_BYTES });
      return messagesReply(chat, page, request);
    },
  }),

  ofChat.put('/attachments', {
    name: 'attachFile',
    summary: 'Attach the body to a chat; it is stored as it comes in',
    query: z.strictObject({
      name: z.string(),
      message: z.string().optional(),
      artifact: z.enum(['true', 'false']).optional().describe('A file that the agent made'),
      call: z.string().optional().describe('Of an artifact: the tool call that made it'),
    }),
    body: { bytes: 'The bytes; their type is that of the request' },
    answer: {
      status: 201,
      what: 'The attachment',
      json: z.looseObject({ id: z.string(), hash: z.string() }),
      example: { id: 'a1', hash: 'ab'.repeat(32), name: 'x.png', size: 3, mediaType: 'image/png' },
    },
    async give({ params: { id }, query: { artifact, ...named }, request, store }) {
      const chat = await store.chats.open(id);
      const mediaType = request.header('content-type');
      const options = {
        ...named,
        ...(artifact !== undefined && { artifact: artifact === 'true' }),
        // Clients name this type when they do not know one; the ending of the name may tell more.
        ...(mediaType !== undefined && mediaType !== ANY_TYPE && { mediaType }),
      };
      return chat.attach(readUpload(request), options);
    },
  }),
];

/** A message that is read when there is room for it. */
interface Unread {
  readonly size: number;
  readonly read: () => Promise<unknown>;
}

/** Answers with a page. Messages that were too large to read are read one by one, as the client takes them. */
async function messagesReply(
  chat: Chat,
  { messages, ...rest }: MessagePage,
  request: HttpRequest,
): Promise<Reply> {
  if (messages.every(({ unread }) => unread === undefined)) return jsonReply({ messages, ...rest });
  const pieces: (Uint8Array | Unread)[] = [];
  let text = '{"messages":[';
  for (const [at, { unread, ...message }] of messages.entries()) {
    if (at > 0) text += ',';
    if (unread === undefined) text += JSON.stringify(message);
    else {
      const read = async (): Promise<unknown> => (await chat.message(message.id)) ?? message;
      pieces.push(encodeUtf8(text), { size: unread, read });
      text = '';
    }
  }
  const end = JSON.stringify(rest).slice(1);
  pieces.push(encodeUtf8(`${text}]${end === '}' ? '' : ','}${end}`));
  return { body: await begun(messagePieces(pieces, request)) };
}

/** Only the bytes of small messages are kept, because they wait for the client. */
async function* messagePieces(
  pieces: readonly (Uint8Array | Unread)[],
  { room }: HttpRequest,
): AsyncGenerator<Uint8Array, void, undefined> {
  const small = pieces.reduce((sum, piece) => sum + ('length' in piece ? piece.length : 0), 0);
  const left = room.keep(small);
  try {
    for (const piece of pieces) {
      if (piece instanceof Uint8Array) yield piece;
      else
        yield* room.parts(piece.size, async () => encodeUtf8(JSON.stringify(await piece.read())));
    }
  } finally {
    left();
  }
}
