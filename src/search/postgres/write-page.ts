import { setImmediate as nextTurn } from 'node:timers/promises';
import { QuipuError } from '../../base/errors.ts';
import type { Transaction } from '../../postgres/transaction.ts';
import type { IndexPage, IndexedText, IndexChange } from '../contract/search-index.ts';
import { cutPieces, fieldTokens, type Piece } from '../index/cut-pieces.ts';
import { PART_DOCS, lexeme, partPrefix } from '../query/plan-tsquery.ts';
import type { Lease } from './lease.ts';
import { toBytes, toName } from './schema.ts';

// One page of the index is one transaction, with its marks. It begins with a look at the lease, whose row it keeps to
// its end: so a server that lost the lease writes nothing. Rows are made before it begins, because a transaction that
// stands still is ended by the database.

/** Rows of one statement. */
const ROWS_AT_ONCE = 512;
/** Texts are cut for about two milliseconds at a time, so that commits of this process go on. */
const CHARS_AT_ONCE = 65_536;

const STILL_HELD = `SELECT FROM quipu.search_state
  WHERE holder = $1 AND generation = $2 AND next_doc = $3 FOR UPDATE`;
const ADD_NAMES = `INSERT INTO quipu.search_names (name) SELECT DISTINCT unnest($1::bytea[])
  ON CONFLICT DO NOTHING`;
const SOURCE = '(SELECT id FROM quipu.search_names WHERE name = $1)';
const ADD_THREADS = `INSERT INTO quipu.search_threads (source, name) SELECT DISTINCT ${SOURCE}, unnest($2::bytea[])
  ON CONFLICT DO NOTHING`;
/** Returns how many documents went, and how many rows they had. */
const LEFT = 'SELECT count(DISTINCT (thread, ref)) AS documents, count(*) AS rows FROM gone';
const CLEAR = `WITH gone AS (DELETE FROM quipu.search_docs d USING quipu.search_threads t
    WHERE t.source = ${SOURCE} AND t.name = ANY($2::bytea[]) AND d.thread = t.id RETURNING d.thread, d.ref),
  unforked AS (DELETE FROM quipu.search_forks f USING quipu.search_threads t
    WHERE t.source = ${SOURCE} AND t.name = ANY($2::bytea[]) AND f.thread = t.id)
  ${LEFT}`;
const REMOVE = `WITH gone AS (DELETE FROM quipu.search_docs d
    USING unnest($2::bytea[], $3::bytea[]) AS r(name, ref)
      JOIN quipu.search_threads t ON t.source = ${SOURCE} AND t.name = r.name
    WHERE d.thread = t.id AND substring(d.ref FROM 1 FOR 64) = substring(r.ref FROM 1 FOR 64) AND d.ref = r.ref
    RETURNING d.thread, d.ref)
  ${LEFT}`;
const INSERT = `INSERT INTO quipu.search_docs
    (id, source, thread, ref, depth, at, piece, words, kind, type, model, blob, sketch, tokens)
  SELECT r.id, ${SOURCE}, t.id, r.ref, r.depth, r.at, r.piece, r.words, kind.id, type.id, coalesce(model.id, 0), r.blob,
    r.sketch, r.tokens::tsvector
  FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::integer[], $8::bytea[],
      $9::bytea[], $10::bytea[], $11::bigint[], $12::bytea[], $13::text[], $14::integer[])
    AS r(id, thread, ref, depth, at, words, kind, type, model, blob, sketch, tokens, piece)
  JOIN quipu.search_threads t ON t.source = ${SOURCE} AND t.name = r.thread
  JOIN quipu.search_names kind ON kind.name = r.kind
  JOIN quipu.search_names type ON type.name = r.type
  LEFT JOIN quipu.search_names model ON model.name = r.model`;
const FORK = `INSERT INTO quipu.search_forks (thread, parent, depth)
  SELECT t.id, p.id, r.depth FROM unnest($2::bytea[], $3::bytea[], $4::bigint[]) AS r(thread, parent, depth)
  JOIN quipu.search_threads t ON t.source = ${SOURCE} AND t.name = r.thread
  JOIN quipu.search_threads p ON p.source = ${SOURCE} AND p.name = r.parent
  ON CONFLICT (thread) DO UPDATE SET parent = excluded.parent, depth = excluded.depth`;
const MARK = `UPDATE quipu.search_threads t SET mark = r.mark
  FROM unnest($2::bytea[], $3::text[]) AS r(name, mark) WHERE t.source = ${SOURCE} AND t.name = r.name`;
const UNMARK = `DELETE FROM quipu.search_threads t WHERE t.source = ${SOURCE} AND t.name = ANY($2::bytea[])`;
const FINISH = `UPDATE quipu.search_state SET next_doc = $2, documents = documents + $3, done = $4, total = $5,
    what = $6, expires_at = greatest(expires_at, clock_timestamp() + interval '5 seconds')
  WHERE holder = $1
  RETURNING (waiting IS NOT NULL AND waits_until > clock_timestamp()) AS wanted`;

export interface WrittenPage {
  /** Rows that left the index. */
  readonly removed: number;
  readonly next: number;
  readonly isWanted: boolean;
}

interface DocRow extends Piece {
  readonly id: number;
  readonly text: IndexedText;
  readonly tokens: string;
  /** Which piece of its document it is. */
  readonly nth: number;
}

/** A page that is ready to be written. */
export interface MadePage {
  /** The name of the source in the tables. */
  readonly source: string;
  readonly page: IndexPage;
  readonly folded: FoldedPage;
  readonly rows: readonly DocRow[];
}

/** `first` is the number of its first row. */
export async function makePage(source: string, page: IndexPage, first: number): Promise<MadePage> {
  const folded = foldPage(page.changes);
  return { source, page, folded, rows: await toRows(folded.put, first) };
}

export async function writePage(
  sql: Transaction,
  { id: holder, generation, next: first }: Pick<Lease, 'id' | 'generation' | 'next'>,
  { source, page, folded, rows }: MadePage,
): Promise<WrittenPage> {
  const held = await sql.query(STILL_HELD, [holder, generation, first]);
  if (held.length === 0) throw leaseLost();
  // The next commit to the disk takes this one with it; until then the pages and their marks are lost together.
  sql.send('SET LOCAL synchronous_commit = off');
  const { cleared, removed, put, forks } = folded;
  const own = toName(source);
  const names = put.flatMap(({ kind, type, model = kind }) => [kind, type, model]);
  sql.send(ADD_NAMES, [[...new Set([source, ...names])].map(toName)]);
  const going: Promise<readonly Left[]>[] = [];
  if (cleared.length > 0) going.push(sql.query<Left>(CLEAR, [own, cleared.map(toBytes)]));
  if (removed.length > 0) {
    const refs = [
      removed.map(({ thread }) => toBytes(thread)),
      removed.map(({ ref }) => toBytes(ref)),
    ];
    going.push(sql.query<Left>(REMOVE, [own, ...refs]));
  }
  const gone = Promise.all(going);
  const kept = page.marks.filter(([, mark]) => mark !== undefined);
  const dropped = page.marks.filter(([, mark]) => mark === undefined);
  const threads = [
    ...put.map(({ thread }) => thread),
    ...forks.flatMap(({ thread, parent }) => [thread, parent]),
    ...kept.map(([thread]) => thread),
  ];
  sql.send(ADD_THREADS, [own, [...new Set(threads)].map(toBytes)]);
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    sql.send(INSERT, [own, ...toColumns(rows.slice(at, at + ROWS_AT_ONCE))]);
  }
  if (forks.length > 0) {
    sql.send(FORK, [
      own,
      forks.map(({ thread }) => toBytes(thread)),
      forks.map(({ parent }) => toBytes(parent)),
      forks.map(({ depth }) => depth),
    ]);
  }
  if (kept.length > 0) {
    sql.send(MARK, [own, kept.map(([thread]) => toBytes(thread)), kept.map(([, mark]) => mark)]);
  }
  if (dropped.length > 0) sql.send(UNMARK, [own, dropped.map(([thread]) => toBytes(thread))]);
  const left = (await gone).flat();
  const next = first + rows.length;
  const { done, total } = page.progress;
  const added = new Set(rows.map(({ text }) => text)).size - sum(left, 'documents');
  const values = [holder, next, added, done, total, page.source];
  const [state] = await sql.query<{ wanted: boolean }>(FINISH, values);
  return { removed: sum(left, 'rows'), next, isWanted: state?.wanted === true };
}

function sum(left: readonly Left[], what: keyof Left): number {
  return left.reduce((total, one) => total + one[what], 0);
}

interface Left {
  readonly documents: number;
  readonly rows: number;
}

async function toRows(put: readonly IndexedText[], first: number): Promise<DocRow[]> {
  const rows: DocRow[] = [];
  let chars = 0;
  for (const text of put) {
    chars += text.texts.reduce((total, one) => total + one.length, 0);
    if (chars > CHARS_AT_ONCE) {
      chars = 0;
      await nextTurn();
    }
    const fields = fieldTokens(text);
    for (const [nth, piece] of cutPieces(text.texts).entries()) {
      const id = first + rows.length;
      rows.push({
        ...piece,
        id,
        text,
        nth,
        tokens: toTsvector(piece, fields, Math.floor(id / PART_DOCS)),
      });
    }
  }
  return rows;
}

/** Parts have places, wholes and facts have none. */
function toTsvector({ parts, wholes }: Piece, fields: readonly string[], part: number): string {
  const places = new Map<string, string>();
  for (const [at, token] of parts.entries()) {
    const before = places.get(token);
    places.set(token, before === undefined ? `:${at + 1}` : `${before},${at + 1}`);
  }
  for (const token of [...wholes, ...fields]) if (!places.has(token)) places.set(token, '');
  const prefix = partPrefix(part);
  return [...places].map(([token, where]) => lexeme(prefix, token) + where).join(' ');
}

function toColumns(rows: readonly DocRow[]): unknown[] {
  return [
    rows.map(({ id }) => id),
    rows.map(({ text }) => toBytes(text.thread)),
    rows.map(({ text }) => toBytes(text.ref)),
    rows.map(({ text }) => text.depth),
    rows.map(({ text }) => text.at),
    rows.map(({ parts }) => parts.length),
    rows.map(({ text }) => toName(text.kind)),
    rows.map(({ text }) => toName(text.type)),
    rows.map(({ text }) => (text.model === undefined ? null : toName(text.model))),
    rows.map(({ text }) => text.blob ?? null),
    rows.map(({ sketch }) => Buffer.from(sketch)),
    rows.map(({ tokens }) => tokens),
    rows.map(({ nth }) => nth),
  ];
}

function leaseLost(): QuipuError<'UNAVAILABLE'> {
  const message = 'another server has taken over the search index';
  return new QuipuError('UNAVAILABLE', message, { what: 'search index' });
}

/** The sum of a list of changes. Its fields are carried out in this order. */
interface FoldedPage {
  /** Threads whose documents all go, with their forks. */
  readonly cleared: readonly string[];
  /** Documents that go, or are about to come again. */
  readonly removed: readonly { readonly thread: string; readonly ref: string }[];
  readonly put: readonly IndexedText[];
  readonly forks: readonly {
    readonly thread: string;
    readonly parent: string;
    readonly depth: number;
  }[];
}

export function foldPage(changes: readonly IndexChange[]): FoldedPage {
  const cleared = new Set<string>();
  const documents = new Map<
    string,
    IndexedText | { readonly thread: string; readonly ref: string }
  >();
  const forks = new Map<string, FoldedPage['forks'][number]>();
  for (const change of changes) {
    if ('put' in change) {
      const { thread, ref } = change.put;
      documents.set(JSON.stringify([thread, ref]), change.put);
    } else if ('remove' in change) {
      const { thread, ref } = change.remove;
      documents.set(JSON.stringify([thread, ref]), { thread, ref });
    } else if ('fork' in change) {
      forks.set(change.fork.thread, change.fork);
    } else {
      cleared.add(change.removeThread);
      forks.delete(change.removeThread);
      for (const [key, { thread }] of documents) {
        if (thread === change.removeThread) documents.delete(key);
      }
    }
  }
  const all = [...documents.values()];
  return {
    cleared: [...cleared],
    removed: all.map(({ thread, ref }) => ({ thread, ref })),
    put: all.filter((one) => 'texts' in one),
    forks: [...forks.values()],
  };
}
