import { given } from '../../../base/given.ts';
import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { z } from 'zod';
import { invalid, notFound } from '../../../base/errors.ts';
import type { ContextId } from '../../../base/brand.ts';
import type { ContextRow } from '../../../engine/rows.ts';
import { activityOf } from '../../browse/activity.ts';
import { branchTree } from '../../browse/branch-tree.ts';
import { THREAD_KINDS, parsePlace } from '../../browse/recent-threads.ts';
import { EXAMPLES, route } from '../exchange/route.ts';
import type { HttpRequest, Route } from '../exchange/route.ts';
import { count, ofContext, pageOf } from '../exchange/schemas.ts';

// Reads over all kinds of thread, for people who look around: the page uses them, and so can everyone else.

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 1000;
const BRANCHES_MAX = 1000;
const DAYS_MAX = 3660;

const summary = z
  .strictObject({
    kind: z.enum(THREAD_KINDS),
    id: z.string(),
    title: z.string(),
    updatedAt: z.number(),
    detail: z.string().optional(),
    turns: z.int().optional().describe('Turns, events, steps or entries'),
    labels: z.array(z.string()).optional(),
    state: z.string().optional(),
    live: z.literal(true).optional().describe('Something is being written'),
  })
  .register(EXAMPLES, {
    kind: 'context',
    id: '1',
    title: 'fix the parser',
    updatedAt: 1_790_000_000_000,
  });

const branch = z.strictObject({
  context: z.string(),
  head: z.string(),
  headDepth: z.int(),
  base: z.string(),
  openTurn: z.string(),
  updatedAt: z.number(),
  title: z.string().optional(),
  name: z.string().optional(),
});

const node = z.strictObject({
  turn: z.string(),
  depth: z.int(),
  parent: z.string().optional().describe('The next node on the way to the root'),
  context: z.string().describe('The context that the turn was appended to'),
  type: z.string(),
  createdAt: z.number(),
});

export const browseRoutes: readonly Route[] = [
  route.get('/v1/me', {
    name: 'whoAmI',
    summary: 'Who the caller is to this server, and what it may do',
    answer: {
      what: 'The caller',
      json: z.strictObject({
        name: z.string(),
        scope: z.enum(['read', 'write', 'admin']),
        store: z.string().describe('The name of the store for people'),
        storeId: z.string().describe('The same for every server of this store'),
      }),
      example: { name: 'anyone', scope: 'admin', store: 'agents', storeId: '9f31c0e47a5b2d10' },
    },
    give({ request: { identity, service } }) {
      const { name, scope } = identity;
      const { storeName } = service;
      return { name, scope, store: basename(storeName), storeId: storeIdOf(storeName) };
    },
  }),

  route.get('/v1/threads', {
    name: 'listAll',
    summary: 'Everything in the store, newest first: contexts, chats, workflows, sessions, queues',
    query: z.strictObject({
      kind: z.enum(THREAD_KINDS).optional().describe('Only threads of this kind'),
      limit: count.optional().describe(`Default ${LIMIT_DEFAULT}, at most ${LIMIT_MAX}`),
      cursor: z.string().max(2048).optional().describe('From the page before'),
    }),
    answer: { what: 'A page; `cursor` is there when more follow', json: pageOf(summary) },
    give({ query, request }) {
      const { limit = LIMIT_DEFAULT, cursor } = query;
      if (limit < 1 || limit > LIMIT_MAX) throw invalid('limit', `must be from 1 to ${LIMIT_MAX}`);
      try {
        if (cursor !== undefined) parsePlace(cursor);
      } catch {
        throw invalid('cursor', 'is not a cursor of an earlier page; start again without it');
      }
      return request.service.recent.list({ ...query, limit });
    },
  }),

  ofContext.get('/tree', {
    name: 'getTree',
    summary: 'All branches of the tree that a context leads into, as a skeleton of forks and heads',
    answer: {
      what: 'The nodes are roots, forks and heads; a branch is a context, the oldest first',
      json: z.strictObject({
        branches: z.array(branch),
        nodes: z.array(node),
        turns: z.int().describe('Turns of all branches together'),
        more: z.boolean().describe(`Only the ${BRANCHES_MAX} newest branches are here`),
        reading: z
          .literal(true)
          .optional()
          .describe('The server still reads contexts: ask again for branches that are missing'),
      }),
      example: { branches: [], nodes: [], turns: 0, more: false },
    },
    give: ({ params: { id }, request }) => readTree(id, request),
  }),

  route.get('/v1/activity', {
    name: 'getActivity',
    summary: 'Turns appended per day, UTC',
    query: z.strictObject({
      days: count.optional().describe(`Days up to today. Default 365, at most ${DAYS_MAX}`),
    }),
    answer: {
      what: 'Days with turns, oldest first',
      json: z.strictObject({
        days: z.array(z.strictObject({ day: z.string(), turns: z.int() })),
      }),
      example: { days: [{ day: '2026-11-18', turns: 42 }] },
    },
    async give({ query: { days = 365 }, engine }) {
      if (days < 1 || days > DAYS_MAX) throw invalid('days', `must be from 1 to ${DAYS_MAX}`);
      return { days: await activityOf(engine, days, Date.now()) };
    },
  }),
];

/** Tells two stores apart without telling where they are. */
export function storeIdOf(name: string): string {
  const place = /^\w+:\/\//.test(name) ? name : resolve(name);
  return createHash('sha256').update(place).digest('hex').slice(0, 16);
}

async function readTree(id: ContextId, { service }: HttpRequest): Promise<object> {
  const { engine } = service.served;
  const asked = await engine.getContext(id);
  if (asked === undefined) {
    throw notFound('context', id);
  }
  const { contexts, isWhole } = await service.families.of(id);
  const found = await engine.getMany({ contexts: contexts.toSorted((a, b) => Number(a - b)) });
  const rows = found.contexts.filter(({ head }) => head !== 0n);
  const byAge = [...rows].sort((a, b) => b.updatedAt - a.updatedAt);
  const newest = new Set(byAge.slice(0, BRANCHES_MAX));
  const kept = rows.filter((row) => row.id === id || newest.has(row));
  const { nodes, turns } = await branchTree(engine, kept);
  return {
    branches: (kept.length === 0 ? [asked] : kept).map(toBranch),
    nodes: nodes.map(({ row, parent }) => ({
      turn: String(row.id),
      depth: row.depth,
      ...(parent !== undefined && { parent: String(parent) }),
      context: String(row.context),
      type: row.type,
      createdAt: row.createdAt,
    })),
    turns,
    more: kept.length < rows.length,
    ...(!isWhole && { reading: true as const }),
  };
}

function toBranch(row: ContextRow): object {
  const { title, name } = row.meta;
  return {
    context: String(row.id),
    head: String(row.head),
    headDepth: row.headDepth,
    base: String(row.base),
    openTurn: String(row.openTurn),
    updatedAt: row.updatedAt,
    ...given({ title, name }),
  };
}
