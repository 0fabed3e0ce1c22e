import { given } from '../../../base/given.ts';
import { z } from 'zod';
import { NO_TURN, toContextId } from '../../../base/brand.ts';
import type { ContextId } from '../../../base/brand.ts';
import { notFound } from '../../../base/errors.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { ContextRow } from '../../../engine/rows.ts';
import { jsonReply, route } from '../exchange/route.ts';
import type { HttpRequest, Reply, Route } from '../exchange/route.ts';
import { ofContext } from '../exchange/schemas.ts';
import type { LiveSession, LiveSessions } from '../../metrics/live-sessions.ts';
import { describeContexts } from './context-facts.ts';
import type { DescribedContext } from './context-facts.ts';
import { CqlError, parseCql } from './cql.ts';
import type { CqlContext } from './cql.ts';
import { lenientCount, lenientFlag } from './face.ts';

// Contexts in cxdb's words. Its server keeps what first turns say in memory. This one reads them, with a cache, and so
// looks at a bounded number of contexts, the most recently used ones, for a bounded time, and lets others have their
// turn meanwhile.

const SCAN_MAX = 20_000;
const SCAN_MS_MAX = 5000;
/** The facts in first turns are held until the answer is made. */
const SCAN_CHARS_MAX = 16 * 1024 * 1024;
const STEP = 500;
/** As many as are looked at: a page of cxdb asks for 10,000 at once. */
const LIMIT_MAX = SCAN_MAX;
/** Sessions that a list names. */
const SESSIONS_MAX = 1000;

const oneContext = z.looseObject({ context_id: z.string(), head_turn_id: z.string() });
const EXAMPLE = {
  context_id: '1',
  head_turn_id: '3',
  head_depth: 2,
  created_at_unix_ms: 1_790_000_000_000,
  created_at: '2026-09-21T14:13:20.000Z',
  is_live: false,
  client_tag: 'amplifier',
};

/** Routes on paths of cxdb alone. */
export const cxdbContextRoutes: readonly Route[] = [
  route.get('/v1/contexts/search', {
    name: 'searchContexts',
    summary: 'Contexts by a query of cxdb, newest first',
    query: z.object({ q: z.string().optional(), limit: lenientCount(LIMIT_MAX, LIMIT_MAX) }),
    answer: {
      what: 'What was found; 400 with `position` when the query is wrong',
      json: z.looseObject({ contexts: z.array(oneContext), total_count: z.int() }),
      example: { contexts: [EXAMPLE], total_count: 1, elapsed_ms: 2, query: 'tag = "amplifier"' },
    },
    run: ({ query: { q = '', limit }, request }) => search(q, limit, request),
  }),
  ofContext.get('/provenance', {
    name: 'getProvenance',
    summary: 'Where a context comes from, as its first turn says',
    query: z.object({}),
    answer: {
      what: 'The provenance, or null',
      json: z.strictObject({ context_id: z.string(), provenance: z.looseObject({}).nullable() }),
      example: { context_id: '1', provenance: { service_name: 'worker' } },
    },
    async give({ params: { id }, engine }) {
      const { facts } = await describe(engine, id);
      return { context_id: String(id), provenance: facts.provenance ?? null };
    },
  }),
  ofContext.get('/children', {
    name: 'listChildren',
    summary: 'Contexts whose first turn names this one as the parent',
    query: z.object({
      recursive: lenientFlag(false),
      limit: lenientCount(256, LIMIT_MAX),
      include_provenance: lenientFlag(true),
      include_lineage: lenientFlag(true),
    }),
    answer: {
      what: 'The children, newest first',
      json: z.looseObject({ context_id: z.string(), children: z.array(oneContext) }),
      example: { context_id: '1', recursive: false, count: 0, children: [] },
    },
    async give({ params: { id }, query, request, engine }) {
      await describe(engine, id);
      const family = new Family((await scan(request)).found);
      const ids = query.recursive ? family.below(id) : family.childrenOf(id);
      const { sessions } = request.service.metrics;
      const shown = { family, sessions };
      const children = ids.slice(0, query.limit).map((child) => toJson(child, query, shown));
      const { recursive } = query;
      return { context_id: String(id), recursive, count: children.length, children };
    },
  }),
];

/** On paths that are also ours, for requests in cxdb's words. */
export const contextFaces: readonly Route[] = [
  route.get('/v1/contexts', {
    name: 'listCxdbContexts',
    summary: 'Contexts in the words of cxdb, most recently used first',
    query: z.object({
      limit: lenientCount(100, LIMIT_MAX),
      tag: z.string().optional(),
      include_provenance: lenientFlag(false),
      include_lineage: lenientFlag(false),
    }),
    answer: { what: 'A list', json: z.looseObject({ contexts: z.array(oneContext) }) },
    async give({ query, request }) {
      const { limit, tag } = query;
      const isWanted = ({ facts }: DescribedContext): boolean =>
        tag === undefined || facts.tag === tag;
      const { found, total } = await scan(request, {
        most: tag === undefined && !query.include_lineage ? limit : SCAN_MAX,
      });
      const family = new Family(found);
      const chosen = found.filter(isWanted).slice(0, limit);
      const { sessions } = request.service.metrics;
      const contexts = chosen.map((one) => toJson(one, query, { family, sessions }));
      const active = sessions.list();
      const live = chosen.filter(({ row }) => isLive(row, sessions));
      const tags = [...active.map(({ tag }) => tag), ...live.map(({ facts }) => facts.tag ?? '')];
      return {
        contexts,
        count: contexts.length,
        total,
        active_sessions: active.slice(-SESSIONS_MAX).map(toSession),
        active_tags: [...new Set(tags)].filter((one) => one !== '').slice(0, SESSIONS_MAX),
      };
    },
  }),
  ofContext.get('', {
    name: 'getCxdbContext',
    summary: 'A context in the words of cxdb',
    query: z.object({ include_provenance: lenientFlag(true), include_lineage: lenientFlag(true) }),
    answer: { what: 'The context', json: oneContext },
    async give({ params: { id }, query, request, engine }) {
      const found = await describe(engine, id);
      const others = query.include_lineage ? (await scan(request)).found : [];
      const { sessions } = request.service.metrics;
      return toJson(found, query, { family: new Family(others), sessions });
    },
  }),
];

async function describe(engine: Engine, id: ContextId): Promise<DescribedContext> {
  const row = await engine.getContext(id);
  const [found] = row === undefined ? [] : await describeContexts(engine, [row]);
  if (found !== undefined) return found;
  throw notFound('context', id);
}

interface Scanned {
  readonly found: readonly DescribedContext[];
  /** Contexts in the whole store. */
  readonly total: number;
}

/** The most recently used contexts, as many as the bounds allow. */
async function scan(
  { service, signal }: HttpRequest,
  { most = SCAN_MAX }: { readonly most?: number } = {},
): Promise<Scanned> {
  const { engine } = service.served;
  const endsAt = Date.now() + SCAN_MS_MAX;
  const found: DescribedContext[] = [];
  const seen = new Set<ContextId>();
  let total = 0;
  let chars = 0;
  let cursor: string | undefined;
  do {
    const limit = Math.max(1, Math.min(STEP, most - found.length));
    const from = cursor === undefined ? { count: true } : { cursor };
    const list = await engine.listContexts({ limit, ...from });
    total = list.total ?? total;
    // A context that moved between two pages is on both.
    const fresh = list.rows.filter(({ id }) => !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    const described = await describeContexts(engine, fresh, () => service.turns.next());
    found.push(...described);
    chars += JSON.stringify(described.map(({ facts }) => facts)).length;
    ({ cursor } = list);
    if (signal.aborted || chars > SCAN_CHARS_MAX || Date.now() > endsAt) break;
  } while (cursor !== undefined && found.length < most);
  return { found: found.slice(0, most), total };
}

async function search(q: string, limit: number, request: HttpRequest): Promise<Reply> {
  const begunAt = Date.now();
  let matches;
  try {
    if (q === '') throw new CqlError('UnexpectedToken', 'the query in "q" is missing', 0);
    matches = parseCql(q, begunAt);
  } catch (error) {
    if (!(error instanceof CqlError)) throw error;
    const { message, kind, position, field = null } = error;
    return jsonReply({ error: message, error_type: kind, position, field }, { status: 400 });
  }
  const { sessions } = request.service.metrics;
  const { found, total } = await scan(request);
  const wanted: DescribedContext[] = [];
  let searched = 0;
  for (const one of found) {
    if (request.signal.aborted || Date.now() > begunAt + 2 * SCAN_MS_MAX) break;
    if (matches(toCql(one, sessions))) wanted.push(one);
    searched += 1;
    await request.service.turns.next();
  }
  wanted.sort((a, b) => (a.row.id < b.row.id ? 1 : -1));
  const options = { include_provenance: false, include_lineage: false };
  const shown = { family: new Family([]), sessions };
  return jsonReply({
    contexts: wanted.slice(0, limit).map((one) => toJson(one, options, shown)),
    total_count: wanted.length,
    elapsed_ms: Date.now() - begunAt,
    query: q,
    ...(searched < total && { searched, of: total }),
  });
}

function toCql({ row, facts }: DescribedContext, sessions: LiveSessions): CqlContext {
  const { provenance = {}, tag, title, labels } = facts;
  const text = (name: string): string | undefined => {
    const value = provenance[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    id: Number(row.id),
    tag,
    title,
    label: labels,
    user: text('on_behalf_of'),
    service: text('service_name'),
    host: text('host_name'),
    trace_id: text('trace_id'),
    parent: numberOf(provenance['parent_context_id']),
    root: numberOf(provenance['root_context_id']),
    created: row.createdAt,
    depth: row.headDepth,
    is_live: isLive(row, sessions),
  };
}

/** While the client that made it is connected, and while a turn is being written into it. */
function isLive({ id, openTurn }: ContextRow, sessions: LiveSessions): boolean {
  return openTurn !== NO_TURN || sessions.makerOf(id) !== undefined;
}

function toSession({ id, tag, connectedAt, usedAt, contexts }: LiveSession): object {
  return {
    session_id: id,
    client_tag: tag,
    connected_at: connectedAt,
    last_activity_at: usedAt,
    context_count: contexts.size,
  };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

interface Include {
  readonly include_provenance: boolean;
  readonly include_lineage: boolean;
}

/** What a context is shown with. */
interface Around {
  readonly family: Family;
  readonly sessions: LiveSessions;
}

function toJson(
  { row, facts }: DescribedContext,
  include: Include,
  { family, sessions }: Around,
): object {
  const { tag, title, labels, provenance } = facts;
  const session = sessions.makerOf(row.id);
  return {
    context_id: String(row.id),
    head_turn_id: String(row.head),
    head_depth: row.headDepth,
    created_at_unix_ms: row.createdAt,
    created_at: new Date(row.createdAt).toISOString(),
    is_live: isLive(row, sessions),
    ...(session && { session_id: session.id, last_activity_at: session.usedAt }),
    ...given({ client_tag: tag, title }),
    ...(labels !== undefined && labels.length > 0 && { labels }),
    ...(include.include_provenance && provenance !== undefined && { provenance }),
    ...(include.include_lineage && { lineage: lineageOf(row, provenance, family) }),
  };
}

function lineageOf(
  { id }: ContextRow,
  provenance: DescribedContext['facts']['provenance'],
  family: Family,
): object {
  const children = family.childrenOf(id).map(({ row }) => String(row.id));
  const idText = (value: unknown): string | null =>
    typeof value === 'number' ? String(value) : null;
  return {
    parent_context_id: idText(provenance?.['parent_context_id']),
    root_context_id: idText(provenance?.['root_context_id']),
    spawn_reason: provenance?.['spawn_reason'] ?? null,
    child_context_count: children.length,
    child_context_ids: children,
  };
}

/** Which contexts name which as their parent. */
class Family {
  readonly #children = new Map<ContextId, DescribedContext[]>();

  constructor(contexts: readonly DescribedContext[]) {
    for (const one of contexts) {
      const parent = numberOf(one.facts.provenance?.['parent_context_id']);
      if (parent === undefined || parent < 1) continue;
      const id = toContextId(parent);
      const siblings = this.#children.get(id);
      if (siblings === undefined) this.#children.set(id, [one]);
      else siblings.push(one);
    }
  }

  /** Newest first. */
  childrenOf(id: ContextId): readonly DescribedContext[] {
    return (this.#children.get(id) ?? []).toSorted((a, b) => (a.row.id < b.row.id ? 1 : -1));
  }

  /** Children and theirs; each once, also when contexts name each other. */
  below(id: ContextId): readonly DescribedContext[] {
    const found = new Map<ContextId, DescribedContext>();
    const waiting = [this.childrenOf(id)];
    for (let some = waiting.pop(); some !== undefined; some = waiting.pop()) {
      for (const one of some) {
        if (found.has(one.row.id)) continue;
        found.set(one.row.id, one);
        waiting.push(this.childrenOf(one.row.id));
      }
    }
    return [...found.values()].toSorted((a, b) => (a.row.id < b.row.id ? 1 : -1));
  }
}
