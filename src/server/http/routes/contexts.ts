import { z } from 'zod';
import { QuipuError } from '../../../base/errors.ts';
import type { Context } from '../../../context/context.ts';
import type { ContextUpdate, ListOptions, NewContext } from '../../../context/contexts.ts';
import { given, keyCondition } from '../exchange/conditions.ts';
import { defineRoute, jsonReply } from '../exchange/route.ts';
import type { Reply, Route } from '../exchange/route.ts';
import {
  EXAMPLE_CONTEXT,
  contextId,
  contextJson,
  count,
  detailsShape,
  turnId,
} from '../exchange/schemas.ts';

const params = z.strictObject({ id: contextId });
const details = z.strictObject(detailsShape);
const KEY = 'The same key with the same turn and details gives the first context again';

export const contextRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/v1/contexts',
    name: 'listContexts',
    summary: 'Contexts, most recently used first',
    needs: 'read',
    query: z.strictObject({
      label: z.string().optional(),
      kind: z.string().optional(),
      limit: count.optional().describe('Default 50, at most 10,000'),
      cursor: z.string().optional().describe('From the page before'),
    }),
    answer: {
      status: 200,
      what: 'A page; `cursor` is there when more follow',
      json: z.strictObject({ items: z.array(contextJson), cursor: z.string().optional() }),
      example: { items: [EXAMPLE_CONTEXT] },
    },
    async run({ query, request }) {
      const options = given(query) as ListOptions;
      return jsonReply(await request.service.served.store.contexts.list(options));
    },
  }),

  defineRoute({
    method: 'post',
    path: '/v1/contexts',
    name: 'createContext',
    summary: 'Create a context, empty or at a turn',
    needs: 'write',
    headers: { 'Idempotency-Key': KEY },
    body: {
      json: z.strictObject({ ...detailsShape, base: turnId.optional() }),
      optional: true,
      example: { title: 'fix the parser', labels: ['work'] },
    },
    answer: { status: 201, what: 'The new context', json: contextJson, example: EXAMPLE_CONTEXT },
    async run({ body, request }) {
      const options = { ...(given(body) as NewContext), ...keyCondition(request) };
      return created(await request.service.served.store.contexts.create(options));
    },
  }),

  defineRoute({
    method: 'get',
    path: '/v1/contexts/:id',
    name: 'getContext',
    summary: 'A context; its ETag is the head, for If-Match',
    needs: 'read',
    params,
    answer: { status: 200, what: 'The context', json: contextJson, example: EXAMPLE_CONTEXT },
    async run({ params: { id }, request }) {
      const context = await request.service.served.store.contexts.get(id);
      if (context === undefined) {
        const data = { what: 'context', id: String(id) };
        throw new QuipuError('NOT_FOUND', `there is no context ${id}`, data);
      }
      return jsonReply(context, { headers: { ETag: `"${context.head}"` } });
    },
  }),

  defineRoute({
    method: 'patch',
    path: '/v1/contexts/:id',
    name: 'updateContext',
    summary: 'Change what is said about a context; null removes a field',
    needs: 'write',
    params,
    body: {
      json: z.strictObject({
        title: z.string().nullable().optional(),
        kind: z.string().nullable().optional(),
        labels: z.array(z.string()).nullable().optional(),
        meta: z.unknown().optional(),
      }),
      example: { title: 'fix the lexer', kind: null },
    },
    answer: { status: 200, what: 'As it is now', json: contextJson, example: EXAMPLE_CONTEXT },
    async run({ params: { id }, body, request }) {
      const change = given(body) as ContextUpdate;
      return jsonReply(await request.service.served.store.contexts.update(id, change));
    },
  }),

  defineRoute({
    method: 'delete',
    path: '/v1/contexts/:id',
    name: 'removeContext',
    summary: 'Remove a context; turns that nothing leads to go with the next collection',
    needs: 'write',
    params,
    answer: { status: 204, what: 'It is gone' },
    async run({ params: { id }, request }) {
      await request.service.served.store.contexts.remove(id);
      return { status: 204 };
    },
  }),

  defineRoute({
    method: 'post',
    path: '/v1/turns/:id/fork',
    name: 'forkTurn',
    summary: 'A new context whose head is this turn; nothing is copied',
    needs: 'write',
    params: z.strictObject({ id: turnId }),
    headers: { 'Idempotency-Key': KEY },
    body: { json: details, optional: true, example: { title: 'another way' } },
    answer: { status: 201, what: 'The new context', json: contextJson, example: EXAMPLE_CONTEXT },
    async run({ params: { id }, body, request }) {
      const { contexts } = request.service.served.store;
      return created(await contexts.fork(id, { ...given(body), ...keyCondition(request) }));
    },
  }),
];

function created(context: Context): Reply {
  return jsonReply(context, {
    status: 201,
    headers: { Location: `/v1/contexts/${context.id}`, ETag: `"${context.head}"` },
  });
}
