import { invalid } from '../../../base/errors.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Sql } from '../../../postgres/sql.ts';
import type { ContextList, ContextQuery } from '../../engine.ts';
import { toRange } from '../../context-meta.ts';
import { CONTEXT_COLUMNS, toContextRow, type ContextColumns } from './rows.ts';

// Contexts by recency. A context that moves during paging goes to the top, which the reader has already passed. So
// a listing ends with further rounds over the contexts that moved since the round before began.

interface Moment {
  readonly seq: number;
  readonly ms: number;
}

interface Cursor {
  /** Only contexts that moved after this belong to the round. */
  readonly floor: Moment;
  /** The time when the round began. */
  readonly round: Moment;
  /** The last row given; undefined at the start of a round. */
  readonly at?: { readonly updatedAt: number; readonly id: number };
}

const BEGINNING: Moment = { seq: 0, ms: 0 };

export async function listContexts(database: Database, query: ContextQuery): Promise<ContextList> {
  return database.read(async (sql) => {
    const page = await listPage(sql, query);
    return query.count === true ? { ...page, total: await count(sql, query) } : page;
  });
}

async function listPage(sql: Sql, query: ContextQuery): Promise<ContextList> {
  const [now] = await sql.query<{ seq: number; ms: number }>(
    'SELECT seq, time_ms AS ms FROM quipu.clock',
  );
  const round = now ?? BEGINNING;
  const cursor =
    query.cursor === undefined ? { floor: BEGINNING, round } : parseCursor(query.cursor);
  const found = await list(sql, query, cursor, query.limit + 1);
  const rows = found.slice(0, query.limit);
  const last = rows.at(-1);
  if (found.length > rows.length && last !== undefined) {
    const at = { updatedAt: last.updated_at, id: last.id };
    return { rows: rows.map(toContextRow), cursor: toText({ ...cursor, at }) };
  }
  // The round is over; another one follows only if something moved since it began.
  const next = { floor: cursor.round, round };
  const more = round.seq > cursor.round.seq && (await list(sql, query, next, 1)).length > 0;
  return { rows: rows.map(toContextRow), ...(more && { cursor: toText(next) }) };
}

/** The contexts of a list in SQL. Each condition adds its values, and `bind` names the place of one. */
function conditionsOf(query: ContextQuery): {
  texts: string[];
  values: unknown[];
  bind: (value: unknown) => string;
} {
  const { label, kind, namePrefix, fields = [], created = {}, updated = {} } = query;
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const texts = ['NOT c.removed'];
  if (kind !== undefined) texts.push(`c.kind = ${bind(kind)}`);
  if (label !== undefined) {
    texts.push(
      `EXISTS (SELECT FROM quipu.context_labels l WHERE l.context = c.id AND l.label = ${bind(label)})`,
    );
  }
  if (namePrefix !== undefined) {
    const from = encodeUtf8(namePrefix);
    // No text has the byte 255 in UTF-8.
    const to = Buffer.concat([from, Buffer.of(0xff)]);
    texts.push(`EXISTS (SELECT FROM quipu.context_names n WHERE n.context = c.id
      AND n.name >= ${bind(from)} AND n.name < ${bind(to)})`);
  }
  for (const { name, from, to, found } of fields.map(toRange)) {
    texts.push(`${found ? '' : 'NOT '}EXISTS (SELECT FROM quipu.context_fields f WHERE f.context = c.id
      AND f.name = ${bind(name)} AND f.value >= ${bind(from)} AND f.value < ${bind(to)})`);
  }
  for (const [column, range] of Object.entries({ created_at: created, updated_at: updated })) {
    if (range.since !== undefined) texts.push(`c.${column} >= ${bind(range.since)}`);
    if (range.until !== undefined) texts.push(`c.${column} < ${bind(range.until)}`);
  }
  return { texts, values, bind };
}

async function list(
  sql: Sql,
  query: ContextQuery,
  { floor, at }: Cursor,
  limit: number,
): Promise<readonly ContextColumns[]> {
  const { texts, values, bind } = conditionsOf(query);
  texts.push(`c.moved_seq > ${bind(floor.seq)} AND c.updated_at >= ${bind(floor.ms)}`);
  if (at !== undefined) {
    texts.push(`(c.updated_at, c.id) < (${bind(at.updatedAt)}, ${bind(at.id)})`);
  }
  const text = `SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c WHERE ${texts.join(' AND ')}
    ORDER BY c.updated_at DESC, c.id DESC LIMIT ${bind(limit)}`;
  return sql.query(text, values);
}

async function count(sql: Sql, query: ContextQuery): Promise<number> {
  const { texts, values } = conditionsOf(query);
  const text = `SELECT count(*) AS total FROM quipu.contexts c WHERE ${texts.join(' AND ')}`;
  const [row] = await sql.query<{ total: number }>(text, values);
  return Number(row?.total ?? 0);
}

function toText(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function parseCursor(text: string): Cursor {
  try {
    const cursor = JSON.parse(Buffer.from(text, 'base64url').toString()) as Cursor;
    const numbers = [cursor.floor.seq, cursor.floor.ms, cursor.round.seq, cursor.round.ms];
    const { updatedAt, id } = cursor.at ?? { updatedAt: 0, id: 0 };
    if ([...numbers, updatedAt, id].every(Number.isSafeInteger)) return cursor;
  } catch {
    // Falls through: no listing gave this cursor.
  }
  throw invalid('cursor', 'is not a cursor of an earlier listing; start again without it');
}
