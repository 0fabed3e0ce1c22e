import { isQuipuError } from '../../base/errors.ts';
import type { Database } from '../../postgres/database.ts';
import type { Sql } from '../../postgres/sql.ts';
import type { PickRequest, Picks } from '../contract/search-index.ts';
import { PART_DOCS, planTsquery } from '../query/plan-tsquery.ts';
import type { Condition, Phrase, Term } from '../query/query.ts';
import { factColumns, unpackRows } from '../rank/packed-rows.ts';
import type { CandidateRow, PickBasis } from '../rank/pick-rows.ts';
import { leafHashes, leastCount } from '../rank/rank.ts';

// Candidates for a query, and how common its words are. A query goes through the parts of the index from the newest to
// the oldest, a few at a time, and every statement has what is left of the time: no query runs longer.
// Only the index of tokens is of use here: numbers are written as sums, so that no other is taken for it.

/** Documents looked at for an estimate of how common a word is. */
const SAMPLE_DOCS = 8192;
/** Parts that one statement looks through. The first one looks at one part, each next one at twice as many. */
const PARTS_MAX = 16;
/** Ranking gets this much time more, so that what was found in the last moment can be shown. */
const RANK_MS = 250;

const STRETCH = `SELECT documents, next_doc - 1 AS last, (SELECT min(id) FROM quipu.search_docs) AS first
  FROM quipu.search_state`;
const SOURCES = 'SELECT id FROM quipu.search_names WHERE name = ANY($1::bytea[])';

interface Span {
  /** Numbers of documents, both included. */
  readonly first: number;
  readonly last: number;
}

interface Stretch extends Span {
  /** Documents in the whole index. */
  readonly documents: number;
}

export interface FoundRows {
  readonly documents: number;
  /** The number of the newest document that was looked at. */
  readonly upTo: number;
  readonly rows: readonly CandidateRow[];
  readonly ranked: Picks['ranked'];
  readonly basis: PickBasis;
}

/** `sources` are the names of the sources whose texts can be shown here. */
export async function findRows(
  database: Database,
  request: PickRequest,
  sources: readonly Buffer[],
): Promise<FoundRows> {
  const until = performance.now() + request.timeMs;
  const gathered: { rows: CandidateRow[]; ranked: Picks['ranked'] } = { rows: [], ranked: 'time' };
  let stretch: Stretch = { first: 1, last: 0, documents: 0 };
  const isInTime = await inTime(async () => {
    await database.read(async (sql) => {
      gathered.rows = [];
      stretch = await readStretch(sql, request);
      gathered.ranked = await gather(sql, {
        request,
        stretch,
        sources,
        until,
        into: gathered.rows,
      });
    });
  });
  const ranked = isInTime ? gathered.ranked : 'time';
  const rows = gathered.rows.slice(0, request.candidates);
  const basis = await weigh(database, request, { stretch, rows, until });
  return { documents: stretch.documents, upTo: stretch.last, rows, ranked, basis };
}

async function readStretch(sql: Sql, { after, timeMs }: PickRequest): Promise<Stretch> {
  await limitTime(sql, timeMs);
  const [row] = await sql.query<{ documents: number; first: number | null; last: number }>(STRETCH);
  const last = after?.upTo ?? row?.last ?? 0;
  return { documents: row?.documents ?? 0, first: row?.first ?? last + 1, last };
}

interface Gathering {
  readonly request: PickRequest;
  readonly stretch: Stretch;
  readonly sources: readonly Buffer[];
  readonly until: number;
  readonly into: CandidateRow[];
}

async function gather(sql: Sql, gathering: Gathering): Promise<Picks['ranked']> {
  const { request, stretch, sources, until, into } = gathering;
  const most = request.candidates + 1;
  const limits = limitsOf(request, 6);
  const columns = ['id', 'piece', 'words', ...factColumns(request)] as const;
  const packed = columns.map((column) => `${column} || ' ' || `).join('');
  const text = `SELECT string_agg(packed, ',') AS packed FROM (
      SELECT d.packed FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS p(query, low, high)
      CROSS JOIN LATERAL (
        SELECT ${packed}encode(sketch, 'hex') AS packed FROM quipu.search_docs
        WHERE tokens @@ p.query::tsquery AND id + 0 BETWEEN p.low AND p.high AND source = ANY($5)${limits.sql}
        ORDER BY id + 0 DESC LIMIT $4
      ) d LIMIT $4
    ) found`;
  const own = (await sql.query<{ id: number }>(SOURCES, [sources])).map(({ id }) => id);
  let last = Math.floor(stretch.last / PART_DOCS);
  const oldest = Math.floor(stretch.first / PART_DOCS);
  for (let count = 1; last >= oldest; count = Math.min(PARTS_MAX, count * 2)) {
    const left = until - performance.now();
    if (left <= 0) return 'time';
    const parts = partsOf(Math.max(oldest, last - count + 1), last);
    const { queries, lows, highs } = questions(parts, [request.condition], stretch);
    await limitTime(sql, left);
    const values = [queries, lows, highs, most - into.length, own, ...limits.values];
    const [found] = await sql.query<{ packed: string | null }>(text, values);
    for (const row of unpackRows(found?.packed ?? '', columns)) into.push(row);
    if (into.length >= most) return 'newest';
    last -= count;
  }
  return 'all';
}

/** Finds how common each leaf is, and which candidates have it, where that makes a difference. */
async function weigh(
  database: Database,
  { leaves, order, isLoose }: PickRequest,
  {
    stretch,
    rows,
    until,
  }: { readonly stretch: Stretch; readonly rows: readonly CandidateRow[]; readonly until: number },
): Promise<PickBasis> {
  const documents = Math.max(1, stretch.last);
  const sample = Math.max(1, Math.min(SAMPLE_DOCS, stretch.last));
  const shares = leaves.map(() => 0.5);
  const sets: Set<number>[] = [];
  const matters = leaves.length >= 2 && order === 'best' && rows.length > 0;
  const isInTime =
    matters &&
    (await inTime(async () => {
      await database.read(async (sql) => {
        await limitTime(sql, Math.max(0, until - performance.now()) + RANK_MS);
        const newest = { first: stretch.last - sample + 1, last: stretch.last };
        for (const { leaf, count } of await countLeaves(sql, leaves, newest)) {
          shares[leaf] = count / (sample + 1);
        }
        if (!isLoose) return;
        const [first, last] = [rows.at(-1)?.id ?? 0, rows[0]?.id ?? 0];
        const found = await findLeaves(sql, leaves, { first, last });
        for (const at of leaves.keys()) sets[at] = found.get(at) ?? new Set();
      });
    }));
  const hashes = leaves.map(leafHashes);
  return {
    shares: shares.map((share) => (isInTime ? Math.max(0.5 / (sample + 1), share) : 0.5)),
    documents,
    countOf: ({ id, sketch }, _, leaf) => {
      const isThere = !isInTime || !isLoose || sets[leaf]?.has(id) === true;
      return isThere ? leastCount(sketch, hashes[leaf] ?? []) : 0;
    },
  };
}

const QUESTIONS = `unnest($1::text[], $2::bigint[], $3::bigint[], $4::integer[]) AS p(query, low, high, leaf)`;
const MATCHING = `FROM quipu.search_docs WHERE tokens @@ p.query::tsquery AND id + 0 BETWEEN p.low AND p.high`;

async function countLeaves(
  sql: Sql,
  leaves: readonly (Term | Phrase)[],
  stretch: Span,
): Promise<readonly { leaf: number; count: number }[]> {
  const { queries, lows, highs, nths } = questions(partsIn(stretch), leaves, stretch);
  const text = `SELECT p.leaf, sum(d.count)::bigint AS count FROM ${QUESTIONS}
    CROSS JOIN LATERAL (SELECT count(*) AS count ${MATCHING}) d GROUP BY p.leaf`;
  return sql.query(text, [queries, lows, highs, nths]);
}

async function findLeaves(
  sql: Sql,
  leaves: readonly (Term | Phrase)[],
  stretch: Span,
): Promise<ReadonlyMap<number, Set<number>>> {
  const found = new Map<number, Set<number>>();
  const { queries, lows, highs, nths } = questions(partsIn(stretch), leaves, stretch);
  const text = `SELECT p.leaf, array_agg(d.id) AS ids FROM ${QUESTIONS}
    CROSS JOIN LATERAL (SELECT id ${MATCHING}) d GROUP BY p.leaf`;
  const rows = await sql.query<{ leaf: number; ids: (number | string)[] }>(text, [
    queries,
    lows,
    highs,
    nths,
  ]);
  for (const { leaf, ids } of rows) found.set(leaf, new Set(ids.map(Number)));
  return found;
}

/** One question for each condition in each part. */
function questions(
  parts: readonly number[],
  conditions: readonly (Condition | undefined)[],
  { first, last }: Span,
): { queries: string[]; lows: number[]; highs: number[]; nths: number[] } {
  const pairs = parts.flatMap((part) =>
    conditions.map((condition, nth) => ({ part, condition, nth })),
  );
  return {
    queries: pairs.map(({ part, condition }) => planTsquery(condition, part)),
    lows: pairs.map(({ part }) => Math.max(first, part * PART_DOCS)),
    highs: pairs.map(({ part }) => Math.min(last, (part + 1) * PART_DOCS - 1)),
    nths: pairs.map(({ nth }) => nth),
  };
}

function partsIn({ first, last }: Span): number[] {
  return partsOf(Math.floor(first / PART_DOCS), Math.floor(last / PART_DOCS));
}

/** Newest first. */
function partsOf(oldest: number, newest: number): number[] {
  return Array.from({ length: newest - oldest + 1 }, (_, at) => newest - at);
}

async function limitTime(sql: Sql, ms: number): Promise<void> {
  await sql.query(`SELECT set_config('statement_timeout', $1, true)`, [String(Math.ceil(ms))]);
}

/** False when the database stopped the work because its time was up. */
async function inTime(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (isQuipuError(error, 'TIMEOUT')) return false;
    throw error;
  }
}

const CONTEXTS = `(SELECT t.id FROM quipu.search_threads t JOIN quipu.search_names n ON n.id = t.source
  WHERE n.name = 'context'::bytea AND t.name = ANY($::bytea[]))`;

/** Conditions on the columns, with parameters from `$first` on. */
function limitsOf(
  { before, since, contexts, notContexts }: PickRequest,
  first: number,
): { sql: string; values: unknown[] } {
  const tests: [string, unknown][] = [];
  if (before !== undefined) tests.push(['at < $', before]);
  if (since !== undefined) tests.push(['at >= $', since]);
  const bytes = (ids: readonly string[]): Buffer[] => ids.map((id) => Buffer.from(id));
  if (contexts !== undefined) tests.push([`thread IN ${CONTEXTS}`, bytes(contexts)]);
  if (notContexts !== undefined) tests.push([`thread NOT IN ${CONTEXTS}`, bytes(notContexts)]);
  return {
    sql: tests.map(([sql], at) => ` AND ${sql.replace('$', `$${first + at}`)}`).join(''),
    values: tests.map(([, value]) => value),
  };
}
