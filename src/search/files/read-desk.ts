import { firstColumn, type Database } from '../../base/sqlite.ts';
import type { Fork, PickRequest, Picked, Picks } from '../contract/search-index.ts';
import { planFts5 } from '../query/plan-fts5.ts';
import type { Phrase, Term } from '../query/query.ts';
import { countFacets } from '../rank/facets.ts';
import { packedColumns, unpackRows } from '../rank/packed-rows.ts';
import { pickRows, type CandidateRow, type RankedRow } from '../rank/pick-rows.ts';
import type { Candidate, Weighted } from '../rank/rank.ts';
import { DOCUMENTS, partName } from './schema.ts';
import { Statements, listParts, openForReading, type PartRow } from './text-tables.ts';

// The reader of search.db. A query goes through the parts from the newest to the oldest, and looks at the clock between
// two of them: no query runs longer than its time and one part.

/** Documents looked at for an estimate of how common a word is. */
const SAMPLE_DOCS = 8192;

/**
 * Candidates of a part that are read as rows. More are put together in the database, which takes 6 µs to begin: with 31
 * parts, a third of the time of a query for a rare word.
 */
const FEW_MAX = 32;

/** Names of threads that are kept in memory. */
const THREADS_MAX = 10_000;

type NamedRow = Pick<Picked, 'id' | 'source' | 'thread' | 'ref' | 'depth'>;

/** The facts that every query needs. They hold until the writer commits. */
interface Known {
  readonly version: unknown;
  readonly parts: readonly PartRow[];
  readonly newest: number;
  readonly documents: number;
  readonly threads: Map<number, ThreadName>;
}

type ThreadName = Pick<Picked, 'source' | 'thread'>;

interface PickedRow {
  readonly id: number;
  readonly thread: number;
  readonly ref: string;
  readonly depth: number;
  readonly forked: number;
}

interface Gathered {
  readonly rows: readonly CandidateRow[];
  readonly ranked: Picks['ranked'];
}

export class ReadDesk {
  readonly #db: Database;
  readonly #statements: Statements;
  #known: Known | undefined;

  constructor(path: string) {
    this.#db = openForReading(path);
    this.#statements = new Statements(this.#db);
  }

  /** All of it sees the index as it is at one moment. */
  pick(request: PickRequest): Picks {
    return this.#db.transaction(() => this.#pick(request));
  }

  #pick(request: PickRequest): Picks {
    const known = this.#know();
    const { parts } = known;
    const upTo = request.after?.upTo ?? known.newest;
    const { rows, ranked } = this.#gather(parts, request, upTo);
    const basis = {
      ...this.#weigh(parts, request, upTo),
      has: this.#presence(parts, request, rows),
    };
    const { picked, more, matches, groups } = pickRows(rows, request, basis);
    return {
      upTo,
      picked: this.#toPicked(picked, known),
      more,
      matches,
      ranked,
      documents: known.documents,
      ...(groups && {
        groups: new Map([...groups].map(([id, count]) => [this.#threadKey(id), count])),
      }),
      ...(request.facets && { facets: countFacets(rows, (name) => this.#name(name)) }),
    };
  }

  forksOf(source: string, thread: string): Fork[] {
    const sql = `SELECT t.name AS thread, f.depth FROM forks f JOIN threads t ON t.id = f.thread
      WHERE f.parent = ${THREAD_ID} ORDER BY f.thread LIMIT 1000`;
    return this.#statements.get(sql).all(source, thread) as Fork[];
  }

  parentOf(source: string, thread: string): Fork | undefined {
    const sql = `SELECT t.name AS thread, f.depth FROM forks f JOIN threads t ON t.id = f.parent
      WHERE f.thread = ${THREAD_ID}`;
    return this.#statements.get(sql).get(source, thread) as Fork | undefined;
  }

  inBlob(blob: number): { source: string; thread: string; ref: string }[] {
    const sql = `SELECT DISTINCT n.name AS source, t.name AS thread, CAST(d.ref AS TEXT) AS ref
      FROM docs d JOIN threads t ON t.id = d.thread JOIN names n ON n.id = t.source WHERE d.blob = ?`;
    return this.#statements.get(sql).all(blob) as { source: string; thread: string; ref: string }[];
  }

  walk(source: string, after: number, limit: number): Picked[] {
    const sql = `${NAMED} WHERE d.id > ? AND n.name = ? ORDER BY d.id LIMIT ?`;
    const rows = this.#statements.get(sql).all(after, source, limit) as NamedRow[];
    return rows.map((row) => ({ ...row, key: 0, score: 0 }));
  }

  close(): void {
    this.#db.close();
  }

  #know(): Known {
    const version = this.#statements.value('PRAGMA data_version');
    if (this.#known !== undefined && this.#known.version === version) return this.#known;
    const numberOf = (sql: string): number => Number(this.#statements.value(sql) ?? 0);
    const known: Known = {
      version,
      parts: listParts(this.#db),
      newest: numberOf('SELECT max(id) FROM docs'),
      documents: numberOf(`SELECT value FROM state WHERE name = '${DOCUMENTS}'`),
      threads: new Map(),
    };
    this.#known = known;
    return known;
  }

  #gather(parts: readonly PartRow[], request: PickRequest, upTo: number): Gathered {
    const until = performance.now() + request.timeMs;
    const { sql, params } = limitsOf(request);
    const match = planFts5(request.condition);
    const columns = packedColumns(request);
    const shape = `${columns.join(' ')}${sql}`;
    const rows: CandidateRow[] = [];
    let isFew = true;
    for (const part of parts) {
      if (part.first > upTo) continue;
      const left = request.candidates + 1 - rows.length;
      const given = [match, upTo, ...params];
      const candidates = (): string => candidatesOf(part.id, columns, sql);
      let packed = '';
      if (isFew) {
        const few = this.#statements.named(`few ${part.id} ${shape}`, candidates);
        const found = few.all(...given, FEW_MAX + 1) as { packed: string }[];
        isFew = found.length <= FEW_MAX;
        packed = found.map((row) => row.packed).join(',');
      }
      if (!isFew) {
        const inOne = (): string => `SELECT group_concat(packed) FROM (${candidates()})`;
        const many = this.#statements.named(`many ${part.id} ${shape}`, inOne);
        packed = (firstColumn(many.get(...given, left)) as string | null) ?? '';
      }
      for (const row of unpackRows(packed, columns)) rows.push(row);
      if (rows.length > request.candidates)
        return { rows: rows.slice(0, request.candidates), ranked: 'newest' };
      if (performance.now() > until) return { rows, ranked: 'time' };
    }
    return { rows, ranked: 'all' };
  }

  /** Finds how common each leaf is among the newest documents. A single leaf has nothing to be compared with. */
  #weigh(
    parts: readonly PartRow[],
    { leaves, order }: PickRequest,
    upTo: number,
  ): { leaves: Weighted[]; documents: number } {
    const sample = Math.max(1, Math.min(SAMPLE_DOCS, upTo));
    const shareOf = (leaf: Term | Phrase): number => {
      if (leaves.length < 2 || order !== 'best') return 0.5;
      const found = this.#matching(parts, leaf, {
        from: upTo - sample + 1,
        to: upTo,
        most: sample,
      });
      return Math.max(0.5, found.size) / (sample + 1);
    };
    return {
      leaves: leaves.map((leaf) => ({ leaf, share: shareOf(leaf) })),
      documents: Math.max(1, upTo),
    };
  }

  /** Which candidates have which leaf, where a match may lack some. */
  #presence(
    parts: readonly PartRow[],
    { leaves, isLoose, order, candidates }: PickRequest,
    rows: readonly CandidateRow[],
  ): (candidate: Candidate, leaf: number) => boolean {
    if (!isLoose || order !== 'best' || leaves.length < 2) return () => true;
    const to = rows[0]?.id ?? 0;
    const from = rows.at(-1)?.id ?? 0;
    const sets = leaves.map((leaf) => this.#matching(parts, leaf, { from, to, most: candidates }));
    return ({ id }, leaf) => sets[leaf]?.has(id) === true;
  }

  #matching(
    parts: readonly PartRow[],
    leaf: Term | Phrase,
    { from, to, most }: { readonly from: number; readonly to: number; readonly most: number },
  ): Set<number> {
    const found = new Set<number>();
    const match = planFts5(leaf);
    for (const part of parts) {
      if (part.first > to) continue;
      const name = partName(part.id);
      const statement = this.#statements.get(
        `SELECT rowid AS id FROM ${name} WHERE ${name} MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?`,
      );
      const rows = statement.all(match, from, to, most - found.size) as { id: number }[];
      for (const { id } of rows) found.add(id);
      if (part.first <= from || found.size >= most) break;
    }
    return found;
  }

  #toPicked(ranked: readonly RankedRow[], { threads }: Known): Picked[] {
    const ids = JSON.stringify(ranked.map(({ row }) => row.id));
    const rows = this.#statements.get(PICKED).all(ids) as PickedRow[];
    const found = new Map(rows.map((row) => [row.id, row]));
    return ranked.flatMap(({ row: { id }, key, score }) => {
      const row = found.get(id);
      if (row === undefined) return [];
      const { ref, depth, forked } = row;
      const named = this.#named(row.thread, threads);
      return [{ id, ...named, ref, depth, key, score, isForked: forked !== 0 }];
    });
  }

  #named(thread: number, threads: Known['threads']): ThreadName {
    let named = threads.get(thread);
    if (named !== undefined) return named;
    named = this.#statements.get(THREAD).get(thread) as ThreadName;
    if (threads.size >= THREADS_MAX) threads.clear();
    threads.set(thread, named);
    return named;
  }

  #threadKey(id: number): string {
    const sql = `SELECT n.name || ' ' || t.name FROM threads t JOIN names n ON n.id = t.source WHERE t.id = ?`;
    return (this.#statements.value(sql, id) as string | undefined) ?? '';
  }

  #name(id: number): string {
    return (
      (this.#statements.value('SELECT name FROM names WHERE id = ?', id) as string | undefined) ??
      ''
    );
  }
}

const NAMED = `SELECT d.id, n.name AS source, t.name AS thread, CAST(d.ref AS TEXT) AS ref, d.depth
  FROM docs d JOIN threads t ON t.id = d.thread JOIN names n ON n.id = t.source`;
const PICKED = `SELECT d.id, d.thread, CAST(d.ref AS TEXT) AS ref, d.depth,
  EXISTS (SELECT 1 FROM forks WHERE parent = d.thread) AS forked
  FROM docs d WHERE d.id IN (SELECT value FROM json_each(?))`;
const THREAD = `SELECT n.name AS source, t.name AS thread FROM threads t JOIN names n ON n.id = t.source WHERE t.id = ?`;
const THREAD_ID = `(SELECT t2.id FROM threads t2 JOIN names n2 ON n2.id = t2.source WHERE n2.name = ? AND t2.name = ?)`;
const CONTEXTS = `(SELECT t3.id FROM threads t3 JOIN names n3 ON n3.id = t3.source
  WHERE n3.name = 'context' AND t3.name IN (SELECT value FROM json_each(?)))`;

/** The candidates of a part, newest first, each as one text. */
function candidatesOf(part: number, columns: readonly string[], limits: string): string {
  const name = partName(part);
  const packed = columns.map((column) => `d.${column} || ' ' || `).join('');
  return `SELECT ${packed}hex(d.sketch) AS packed FROM ${name} CROSS JOIN docs d ON d.id = ${name}.rowid
    WHERE ${name} MATCH ? AND ${name}.rowid <= ?${limits} ORDER BY ${name}.rowid DESC LIMIT ?`;
}

function limitsOf({ before, since, contexts, notContexts }: PickRequest): {
  sql: string;
  params: unknown[];
} {
  const tests: [string, unknown][] = [];
  if (before !== undefined) tests.push([' AND d.at < ?', before]);
  if (since !== undefined) tests.push([' AND d.at >= ?', since]);
  if (contexts !== undefined)
    tests.push([` AND d.thread IN ${CONTEXTS}`, JSON.stringify(contexts)]);
  if (notContexts !== undefined)
    tests.push([` AND d.thread NOT IN ${CONTEXTS}`, JSON.stringify(notContexts)]);
  return { sql: tests.map(([sql]) => sql).join(''), params: tests.map(([, value]) => value) };
}
