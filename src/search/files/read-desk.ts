import type { Database } from '../../base/sqlite.ts';
import type { Fork, PickRequest, Picked, Picks } from '../contract/search-index.ts';
import { planFts5 } from '../query/plan-fts5.ts';
import type { Phrase, Term } from '../query/query.ts';
import { countFacets } from '../rank/facets.ts';
import { pickRows, type PickBasis, type RankedRow } from '../rank/pick-rows.ts';
import { CandidateFinder, type Candidates } from './find-candidates.ts';
import { RankReader } from './rank-tables.ts';
import { DOCUMENTS, partName } from './schema.ts';
import { Statements, listParts, listing, openForReading, type PartRow } from './text-tables.ts';

// The reader of search.db.

/** Documents looked at for an estimate of how common a word is. */
const SAMPLE_DOCS = 8192;

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

interface ThreadName extends Pick<Picked, 'source' | 'thread'> {
  /** 1: others were forked from it. */
  readonly forked: number;
}

interface PickedRow {
  readonly id: number;
  readonly thread: number;
  readonly ref: string;
  readonly depth: number;
}

export class ReadDesk {
  readonly #db: Database;
  readonly #statements: Statements;
  readonly #finder: CandidateFinder;
  #known: Known | undefined;

  constructor(path: string) {
    this.#db = openForReading(path);
    this.#statements = new Statements(this.#db);
    this.#finder = new CandidateFinder(this.#statements, new RankReader(this.#statements));
  }

  /** All of it sees the index as it is at one moment. */
  pick(request: PickRequest): Picks {
    return this.#db.transaction(() => this.#pick(request));
  }

  #pick(request: PickRequest): Picks {
    const known = this.#know();
    const { parts } = known;
    const upTo = request.after?.upTo ?? known.newest;
    const candidates = this.#finder.find(parts, request);
    const { rows, ranked } = candidates;
    const basis = {
      shares: this.#sharesOf(parts, request, upTo),
      documents: Math.max(1, upTo),
      countOf: this.#counter(parts, request, candidates),
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

  /** Finds how common each leaf is among the newest documents. A single leaf has nothing to be compared with. */
  #sharesOf(
    parts: readonly PartRow[],
    { leaves, order }: PickRequest,
    upTo: number,
  ): readonly number[] {
    const sample = Math.max(1, Math.min(SAMPLE_DOCS, upTo));
    return leaves.map((leaf) => {
      if (leaves.length < 2 || order !== 'best') return 0.5;
      const found = this.#matching(parts, leaf, {
        from: upTo - sample + 1,
        to: upTo,
        most: sample,
      });
      return Math.max(0.5, found.size) / (sample + 1);
    });
  }

  /** How often each leaf occurs in each candidate. Where a match may lack some, it is 0 for those. */
  #counter(
    parts: readonly PartRow[],
    { leaves, isLoose, order, candidates }: PickRequest,
    found: Candidates,
  ): PickBasis['countOf'] {
    const counts = this.#finder.count(found, leaves);
    const countAt = (nth: number, leaf: number): number => counts[leaf]?.[nth] ?? 0;
    if (!isLoose || order !== 'best' || leaves.length < 2) {
      return (_, nth, leaf) => countAt(nth, leaf);
    }
    const to = found.rows[0]?.id ?? 0;
    const from = found.rows.at(-1)?.id ?? 0;
    const sets = leaves.map((leaf) => this.#matching(parts, leaf, { from, to, most: candidates }));
    return ({ id }, nth, leaf) => (sets[leaf]?.has(id) === true ? countAt(nth, leaf) : 0);
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
    const ids = ranked.map(({ row }) => row.id);
    const rows = this.#statements.get(PICKED + listing(ids)).all(...ids) as PickedRow[];
    const found = new Map(rows.map((row) => [row.id, row]));
    return ranked.flatMap(({ row: { id }, key, score }) => {
      const row = found.get(id);
      if (row === undefined) return [];
      const { source, thread, forked } = this.#named(row.thread, threads);
      const { ref, depth } = row;
      return [{ id, source, thread, ref, depth, key, score, isForked: forked !== 0 }];
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
const PICKED = 'SELECT id, thread, CAST(ref AS TEXT) AS ref, depth FROM docs WHERE id IN ';
const THREAD = `SELECT n.name AS source, t.name AS thread, EXISTS (SELECT 1 FROM forks WHERE parent = t.id) AS forked
  FROM threads t JOIN names n ON n.id = t.source WHERE t.id = ?`;
const THREAD_ID = `(SELECT t2.id FROM threads t2 JOIN names n2 ON n2.id = t2.source WHERE n2.name = ? AND t2.name = ?)`;
