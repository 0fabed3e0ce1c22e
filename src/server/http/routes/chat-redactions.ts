import { z } from 'zod';
import type { RedactOptions } from '../../../chat/handle/chats.ts';
import { assertAllowed } from '../../access/access.ts';
import { chatId } from '../chat-schemas.ts';
import { given } from '../conditions.ts';
import { defineRoute, jsonReply } from '../route.ts';
import type { Route } from '../route.ts';

const body = {
  json: z.strictObject({
    reason: z.string(),
    erase: z.boolean().optional(),
    everywhere: z.boolean().optional(),
  }),
  example: { reason: 'a password', erase: true },
};

const answer = {
  status: 200,
  what: 'What was erased, and what stays because others use it',
  json: z.looseObject({ erasedLines: z.int(), kept: z.array(z.string()) }),
  example: { erasedLines: 2, erasedBlobs: 0, unreadableLines: 0, kept: [] },
} as const;

export const chatRedactionRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/v1/chats/:id/messages/:message/redact',
    name: 'redactMessage',
    summary: 'Hide a message for good; with `erase` (scope admin) remove its text from the store',
    needs: 'write',
    params: z.strictObject({ id: chatId, message: z.string() }),
    body,
    answer,
    async run({ params: { id, message }, body: wish, request }) {
      if (wish.erase === true) assertAllowed(request.identity, 'admin');
      const chat = await request.world.served.store.chats.open(id);
      return jsonReply(await chat.redact(message, given(wish) as RedactOptions));
    },
  }),

  defineRoute({
    method: 'post',
    path: '/v1/chats/:id/clarifications/:batch/redact',
    name: 'redactQuestions',
    summary: 'The same for a batch of questions with its answers; an open one is dismissed',
    needs: 'write',
    params: z.strictObject({ id: chatId, batch: z.string() }),
    body,
    answer,
    async run({ params: { id, batch }, body: wish, request }) {
      if (wish.erase === true) assertAllowed(request.identity, 'admin');
      const chat = await request.world.served.store.chats.open(id);
      return jsonReply(await chat.redactBatch(batch, given(wish) as RedactOptions));
    },
  }),
];
