import { z } from 'zod';
import { parseBoundedJson } from '../../../base/bounded-json.ts';
import { notFound } from '../../../base/errors.ts';
import type { Context } from '../../../context/context.ts';
import type { MetaConditions } from '../../../context/meta-condition.ts';
import { given } from '../../../base/given.ts';
import {
  headCondition,
  keyCondition,
  count,
  flag,
  idOrZeroText,
  idText,
  ofContext,
  ofTurn,
  turnIdInBody,
  turnIdOrNoneInBody,
} from '../exchange/schemas.ts';
import { EXAMPLES, jsonReply, route } from '../exchange/route.ts';
import type { Reply, Route } from '../exchange/route.ts';

const detailsShape = {
  title: z.string().optional(),
  kind: z.string().optional(),
  labels: z.array(z.string()).optional(),
  meta: z.unknown().optional(),
};

const contextName = z.string().describe('Any text of 1 to 512 bytes in UTF-8');

export const contextJson: z.ZodType = z
  .strictObject({
    id: idText,
    head: idOrZeroText,
    headDepth: z.int().min(0),
    base: idOrZeroText,
    openTurn: idOrZeroText,
    flags: z.int().min(0).describe('2: a turn is being streamed; 4: it is a fork'),
    createdAt: z.number(),
    updatedAt: z.number(),
    name: contextName.optional(),
    ...detailsShape,
    labels: z.array(z.string()),
  })
  .describe('A movable head on the tree of turns, and what people say about it')
  .register(EXAMPLES, {
    id: '1',
    head: '2',
    headDepth: 1,
    base: '0',
    openTurn: '0',
    flags: 0,
    createdAt: 1_790_000_000_000,
    updatedAt: 1_790_000_000_500,
    title: 'fix the parser',
    labels: ['work'],
  });

const namedShape = { name: contextName.optional(), ...detailsShape };
/** In the query: a path cannot hold every text, for instance not "..". */
const named = z.strictObject({ name: contextName });
const metaQuery: z.ZodType<MetaConditions, string> = z.string().transform((text, context) => {
  try {
    return parseBoundedJson(text) as MetaConditions;
  } catch {
    context.addIssue('is JSON, such as {"env":"prod"}');
    return z.NEVER;
  }
});
const KEY = 'The same key with the same turn and details gives the first context again';

export const contextRoutes: readonly Route[] = [
  route.get('/v1/contexts', {
    name: 'listContexts',
    summary: 'Contexts, most recently used first',
    query: z.strictObject({
      label: z.string().optional(),
      kind: z.string().optional(),
      namePrefix: z.string().optional().describe('Only those whose name begins with this text'),
      meta: metaQuery
        .optional()
        .describe(
          'Fields of `meta`, as JSON: {"env":"prod","user":{"prefix":"ann"},"ticket":{"exists":true}}',
        ),
      createdSince: count.optional().describe('Created at this time, in milliseconds, or later'),
      createdUntil: count.optional().describe('Created before this time'),
      updatedSince: count.optional().describe('Last used at this time or later'),
      updatedUntil: count.optional().describe('Last used before this time'),
      count: flag.optional().describe('Also give the number of contexts on all pages'),
      limit: count.optional().describe('Default 50, at most 10,000'),
      cursor: z.string().optional().describe('From the page before'),
    }),
    answer: {
      what: 'A page; `cursor` is there when more follow, `total` when it was asked for',
      json: z.strictObject({
        items: z.array(contextJson),
        cursor: z.string().optional(),
        total: z.int().min(0).optional(),
      }),
    },
    give({ query, store }) {
      const { createdSince, createdUntil, updatedSince, updatedUntil, ...asked } = query;
      return store.contexts.list({
        ...asked,
        created: given({ since: createdSince, until: createdUntil }),
        updated: given({ since: updatedSince, until: updatedUntil }),
      });
    },
  }),

  route.post('/v1/contexts', {
    name: 'createContext',
    summary: 'Create a context, empty or at a turn',
    headers: { 'Idempotency-Key': KEY },
    body: {
      json: z.strictObject({ ...namedShape, base: turnIdInBody.optional() }),
      optional: true,
      example: { title: 'fix the parser', labels: ['work'] },
    },
    answer: { status: 201, what: 'The new context', json: contextJson },
    run: async ({ body, request, store }) =>
      created(await store.contexts.create({ ...body, ...keyCondition(request) })),
  }),

  route.get('/v1/contexts/by-name', {
    name: 'findContext',
    summary: 'The context with this name; its ETag is the head',
    query: named,
    answer: { what: 'The context', json: contextJson },
    async run({ query: { name }, store }) {
      const context = await store.contexts.byName(name);
      if (context !== undefined) return found(context);
      const message = `there is no context named ${JSON.stringify(name)}`;
      throw notFound('context', name, message);
    },
  }),

  route.put('/v1/contexts/by-name', {
    name: 'getOrCreateContext',
    summary: 'The context with this name, made with the details of the body if there is none',
    query: named,
    body: {
      json: z.strictObject({ ...detailsShape, base: turnIdInBody.optional() }),
      optional: true,
      example: { title: 'fix the parser' },
    },
    answer: { what: 'The context', json: contextJson },
    run: async ({ query: { name }, body, store }) =>
      found(await store.contexts.getOrCreate(name, body)),
  }),

  ofContext.put('/name', {
    name: 'renameContext',
    summary: 'Rename a context, or remove its name',
    body: {
      json: z.strictObject({ name: contextName.nullable() }),
      example: { name: 'customers/4711' },
    },
    answer: { what: 'As it is now', json: contextJson },
    run: async ({ params: { id }, body: { name }, store }) =>
      found(await store.contexts.rename(id, name)),
  }),

  ofContext.put('/head', {
    name: 'moveHead',
    summary: 'Move the head to any turn, or to none, without a new turn',
    headers: { 'If-Match': 'The id of the head in quotes; another head is 412' },
    body: {
      json: z.strictObject({ head: turnIdOrNoneInBody }),
      example: { head: '1' },
    },
    answer: { what: 'As it is now', json: contextJson },
    run: async ({ params: { id }, body: { head }, request, store }) =>
      found(await store.contexts.moveHead(id, head, headCondition(request))),
  }),

  ofContext.get('', {
    name: 'getContext',
    summary: 'A context; its ETag is the head, for If-Match',
    answer: { what: 'The context', json: contextJson },
    async run({ params: { id }, store }) {
      const context = await store.contexts.get(id);
      if (context === undefined) throw notFound('context', id);
      return found(context);
    },
  }),

  ofContext.patch('', {
    name: 'updateContext',
    summary: 'Change the details of a context; null removes a field',
    body: {
      json: z.strictObject({
        title: z.string().nullable().optional(),
        kind: z.string().nullable().optional(),
        labels: z.array(z.string()).nullable().optional(),
        meta: z.unknown().optional(),
      }),
      example: { title: 'fix the lexer', kind: null },
    },
    answer: { what: 'As it is now', json: contextJson },
    give: ({ params: { id }, body, store }) => store.contexts.update(id, body),
  }),

  ofContext.delete('', {
    name: 'removeContext',
    summary: 'Remove a context; turns that nothing leads to go with the next collection',
    answer: { status: 204, what: 'It is gone' },
    give: ({ params: { id }, store }) => store.contexts.remove(id),
  }),

  ofTurn.post('/fork', {
    name: 'forkTurn',
    summary: 'A new context whose head is this turn; nothing is copied',
    headers: { 'Idempotency-Key': KEY },
    body: { json: z.strictObject(namedShape), optional: true, example: { title: 'another way' } },
    answer: { status: 201, what: 'The new context', json: contextJson },
    run: async ({ params: { id }, body, request, store }) =>
      created(await store.contexts.fork(id, { ...body, ...keyCondition(request) })),
  }),
];

function found(context: Context): Reply {
  return jsonReply(context, { headers: { ETag: `"${context.head}"` } });
}

function created(context: Context): Reply {
  return jsonReply(context, {
    headers: { Location: `/v1/contexts/${context.id}`, ETag: `"${context.head}"` },
  });
}
