import type { PickRequest, Picks } from '../contract/search-index.ts';
import { planFts5 } from '../query/plan-fts5.ts';
import {
  factColumns,
  plainRows,
  unpackRows,
  type FactColumn,
  type PackedColumn,
} from '../rank/packed-rows.ts';
import type { CandidateRow } from '../rank/pick-rows.ts';
import { leafHashes, leastCount } from '../rank/rank.ts';
import { countsAt } from './count-lists.ts';
import type { RankReader } from './rank-tables.ts';
import { partName } from './schema.ts';
import type { PartRow, Statements } from './text-tables.ts';

// The candidates of a query, with how often its words occur in each. A query goes through the parts from the newest to
// the oldest, and looks at the clock between two of them: no query runs longer than its time and one part.

/**
 * Candidates of a part that are read as rows. More are put together in the database, which takes 6 µs to begin: with 31
 * parts, a third of the time of a query for a rare word.
 */
const FEW_MAX = 32;

/** Candidates that came from one part. */
interface Span {
  readonly part: PartRow;
  readonly from: number;
  readonly to: number;
}

export interface Candidates {
  readonly rows: readonly CandidateRow[];
  readonly ranked: Picks['ranked'];
  readonly spans: readonly Span[];
}

/** What a query asks of every part. */
interface Question {
  readonly match: string;
  readonly facts: readonly FactColumn[];
  readonly limits: { readonly sql: string; readonly params: readonly unknown[] };
  /** Of a later page: the newest row that the first page saw. */
  readonly upTo: number | undefined;
}

export class CandidateFinder {
  readonly #statements: Statements;
  readonly #ranks: RankReader;

  constructor(statements: Statements, ranks: RankReader) {
    this.#statements = statements;
    this.#ranks = ranks;
  }

  find(parts: readonly PartRow[], request: PickRequest): Candidates {
    const upTo = request.after?.upTo;
    const until = performance.now() + request.timeMs;
    const question = {
      match: planFts5(request.condition),
      facts: factColumns(request),
      limits: limitsOf(request),
      upTo,
    };
    const rows: CandidateRow[] = [];
    const spans: Span[] = [];
    let isFew = true;
    for (const part of parts) {
      if (upTo !== undefined && part.first > upTo) continue;
      const from = rows.length;
      const left = request.candidates + 1 - from;
      let found: CandidateRow[] | undefined = isFew ? this.#few(part, question) : undefined;
      isFew = found !== undefined;
      found ??= this.#many(part, question, left);
      for (const row of found) rows.push(row);
      const isFull = rows.length > request.candidates;
      if (isFull) rows.length = request.candidates;
      if (rows.length > from) spans.push({ part, from, to: rows.length });
      if (isFull) return { rows, spans, ranked: 'newest' };
      if (performance.now() > until) return { rows, spans, ranked: 'time' };
    }
    return { rows, spans, ranked: 'all' };
  }

  /** How often each leaf occurs in the candidates that have it. */
  count({ rows, spans }: Candidates, leaves: PickRequest['leaves']): readonly Uint8Array[] {
    const hashes = leaves.map(leafHashes);
    const counts = leaves.map(() => new Uint8Array(rows.length).fill(MOST));
    const sealed = spans.filter(({ part }) => part.sealed !== 0);
    for (const span of spans) {
      if (span.part.sealed === 0) countInSketches(rows, span, hashes, counts);
    }
    const parts = sealed.map(({ part }) => part);
    for (const hash of parts.length === 0 ? [] : new Set(hashes.flat())) {
      const lists = this.#ranks.listsOf(hash, parts);
      const into = counts.filter((_, leaf) => hashes[leaf]?.includes(hash));
      for (const span of sealed) countInList(rows, span, lists.get(span.part.id), into);
    }
    return counts;
  }

  /** Undefined: there are more. */
  #few(part: PartRow, question: Question): CandidateRow[] | undefined {
    // The number stands in the text: to bind it takes 2 µs, as long as the look into a part that has no match.
    const few = this.#statements.column(
      nameOf('few', part, question),
      () => `${candidatesOf(part, question)} LIMIT ${FEW_MAX + 1}`,
    );
    const found = few.all(...paramsOf(question));
    if (found.length > FEW_MAX) return undefined;
    if (part.sealed === 0 || question.facts.length > 0) {
      return this.#unpack(found.join(','), part, question.facts);
    }
    return plainRows(found as number[], this.#ranks.lengthsOf(part));
  }

  #many(part: PartRow, question: Question, most: number): CandidateRow[] {
    const many = this.#statements.column(
      nameOf('many', part, question),
      () => `SELECT group_concat(packed) FROM (${candidatesOf(part, question)} LIMIT ?)`,
    );
    const packed = many.get(...paramsOf(question), most) as string | null;
    return this.#unpack(packed ?? '', part, question.facts);
  }

  #unpack(packed: string, part: PartRow, facts: readonly FactColumn[]): CandidateRow[] {
    return part.sealed === 0
      ? unpackRows(packed, [...FRESH, ...facts])
      : unpackRows(packed, ['id', ...facts], this.#ranks.lengthsOf(part));
  }
}

/** No count is larger. */
const MOST = 255;

const NO_ENTRIES = new Uint8Array();

/** Lowers the counts of the leaves that have a word with the hash of a list. */
function countInList(
  rows: readonly CandidateRow[],
  { part, from, to }: Span,
  list: Uint8Array = NO_ENTRIES,
  leaves: readonly Uint8Array[],
): void {
  // Candidates are newest first, and places rise.
  const places = Uint32Array.from(
    { length: to - from },
    (_, nth) => (rows[to - 1 - nth]?.id ?? 0) - part.first,
  );
  for (const [nth, count] of countsAt(list, places).entries()) {
    const at = to - 1 - nth;
    for (const into of leaves) if (count < (into[at] ?? 0)) into[at] = count;
  }
}

function countInSketches(
  rows: readonly CandidateRow[],
  { from, to }: Span,
  hashes: readonly (readonly number[])[],
  counts: readonly Uint8Array[],
): void {
  for (const [leaf, own] of hashes.entries()) {
    const into = counts[leaf];
    for (let nth = from; into !== undefined && nth < to; nth += 1) {
      const sketch = rows[nth]?.sketch;
      if (sketch !== undefined) into[nth] = leastCount(sketch, own);
    }
  }
}

const FRESH: readonly PackedColumn[] = ['id', 'piece', 'words'];

function nameOf(how: string, { id, sealed }: PartRow, { facts, limits, upTo }: Question): string {
  return `${how} ${id} ${sealed} ${upTo === undefined ? '' : 'again '}${facts.join(' ')}${limits.sql}`;
}

function paramsOf({ match, limits, upTo }: Question): readonly unknown[] {
  return [match, ...(upTo === undefined ? [] : [upTo]), ...limits.params];
}

/** The candidates of a part, newest first, each as one text. */
function candidatesOf({ id, sealed }: PartRow, { facts, limits, upTo }: Question): string {
  const name = partName(id);
  const isFresh = sealed === 0;
  const hasDocs = facts.length > 0 || limits.sql !== '';
  const columns = [
    `${name}.rowid`,
    ...(isFresh ? ['f.piece', 'f.words'] : []),
    ...facts.map((fact) => `d.${fact}`),
  ];
  const packed = columns.join(` || ' ' || `) + (isFresh ? ` || ' ' || hex(f.sketch)` : '');
  const docs = hasDocs ? ` CROSS JOIN docs d ON d.id = ${name}.rowid` : '';
  const fresh = isFresh ? ` CROSS JOIN fresh f ON f.id = ${name}.rowid` : '';
  const seen = upTo === undefined ? '' : ` AND ${name}.rowid <= ?`;
  return `SELECT ${packed} AS packed FROM ${name}${docs}${fresh}
    WHERE ${name} MATCH ?${seen}${limits.sql} ORDER BY ${name}.rowid DESC`;
}

const CONTEXTS = `(SELECT t3.id FROM threads t3 JOIN names n3 ON n3.id = t3.source
  WHERE n3.name = 'context' AND t3.name IN (SELECT value FROM json_each(?)))`;

function limitsOf({ before, since, contexts, notContexts }: PickRequest): Question['limits'] {
  const tests: [string, unknown][] = [];
  if (before !== undefined) tests.push([' AND d.at < ?', before]);
  if (since !== undefined) tests.push([' AND d.at >= ?', since]);
  if (contexts !== undefined)
    tests.push([` AND d.thread IN ${CONTEXTS}`, JSON.stringify(contexts)]);
  if (notContexts !== undefined)
    tests.push([` AND d.thread NOT IN ${CONTEXTS}`, JSON.stringify(notContexts)]);
  return { sql: tests.map(([sql]) => sql).join(''), params: tests.map(([, value]) => value) };
}
