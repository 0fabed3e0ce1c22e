import { z } from 'zod';
import type { SearchGroup } from '../../../search/contract/search.ts';
import type { RecentThreads } from '../../browse/recent-threads.ts';
import { route } from '../exchange/route.ts';
import type { Route } from '../exchange/route.ts';
import { count, flag } from '../exchange/schemas.ts';

const KINDS = ['context', 'workflow', 'chat', 'session', 'artifact', 'queue'] as const;
const counts = z.array(z.strictObject({ value: z.string(), count: z.number() }));
const hit = z.strictObject({
  kind: z.enum(KINDS),
  thread: z.string(),
  id: z.string(),
  depth: z.number(),
  at: z.number(),
  type: z.string(),
  role: z.string().optional(),
  model: z.string().optional(),
  tools: z.array(z.string()).optional(),
  score: z.number(),
  snippet: z.strictObject({
    text: z.string(),
    marks: z.array(z.array(z.number())).describe('Begin and end of each word'),
  }),
  branches: z.array(z.string()).describe('Every thread that shows it'),
  moreBranches: z.boolean().optional(),
  around: z
    .array(
      z.strictObject({
        id: z.string(),
        at: z.number(),
        type: z.string(),
        role: z.string().optional(),
        text: z.string(),
      }),
    )
    .optional(),
});

const EXAMPLE_HIT = {
  kind: 'context',
  thread: '1',
  id: '2',
  depth: 1,
  at: 1794700800000,
  type: 'chat.message',
  role: 'user',
  score: 0.7,
  snippet: { text: 'fix the parser', marks: [[8, 14]] },
  branches: ['1'],
};

/** The server answers within the time of any request, however far behind its index is. */
const WAIT_MS_MAX = 20_000;

export const searchRoutes: readonly Route[] = [
  route.get('/v1/search', {
    name: 'search',
    summary: 'Search the texts of all threads',
    query: z.strictObject({
      q: z.string().describe('The query, as on the command line'),
      order: z.enum(['best', 'newest']).optional(),
      limit: count.optional(),
      cursor: z.string().optional(),
      group: flag.optional(),
      facets: flag.optional(),
      around: count.optional(),
      waitMs: count.optional(),
      timeMs: count.optional(),
    }),
    answer: {
      what: 'The hits of a page, and how far the index is',
      json: z.strictObject({
        hits: z.array(hit),
        groups: z
          .array(
            z.strictObject({
              kind: z.enum(KINDS),
              thread: z.string(),
              title: z.string().optional().describe('The title of the thread'),
              matches: z.number(),
              hits: z.array(hit),
            }),
          )
          .optional(),
        facets: z
          .strictObject({ kind: counts, type: counts, model: counts, day: counts })
          .optional(),
        cursor: z.string().optional(),
        matches: z.number(),
        ranked: z.enum(['all', 'newest', 'time']),
        index: z.strictObject({
          upToDate: z.boolean(),
          documents: z.number(),
          done: z.number().optional(),
          total: z.number().optional(),
        }),
      }),
      example: {
        hits: [EXAMPLE_HIT],
        matches: 1,
        ranked: 'all',
        index: { upToDate: true, documents: 130 },
      },
    },
    async give({ query: { q, waitMs, ...wanted }, request }) {
      const wait = waitMs === undefined ? {} : { waitMs: Math.min(waitMs, WAIT_MS_MAX) };
      const { served, recent } = request.service;
      const { groups, ...answer } = await served.store.search(q, { ...wanted, ...wait });
      if (groups === undefined) return answer;
      const titled = await Promise.all(groups.map((group) => withTitle(group, recent)));
      return { ...answer, groups: titled };
    },
  }),
];

async function withTitle(group: SearchGroup, recent: RecentThreads): Promise<object> {
  // An artifact belongs to its session.
  const kind = group.kind === 'artifact' ? 'session' : group.kind;
  const title = await recent.titleOf(kind, group.thread);
  return title === undefined ? group : { ...group, title };
}
