import { invalid } from '../../../base/errors.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Sql, Statement } from '../../../postgres/sql.ts';
import type { ContextList, ContextQuery } from '../../engine.ts';
import { CONTEXT_COLUMNS, toContextRow } from './rows.ts';
import type { ContextColumns } from './rows.ts';

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

/** The values: moved after, not older than, the place of the last row, how many, kind or label. */
const IN_ROUND = `NOT c.removed AND c.moved_seq > $1 AND c.updated_at >= $2 AND (c.updated_at, c.id) < ($3, $4)`;
const NEWEST_FIRST = 'ORDER BY c.updated_at DESC, c.id DESC LIMIT $5';

const LIST_ALL: Statement = {
  name: 'list-contexts',
  text: `SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c WHERE ${IN_ROUND} ${NEWEST_FIRST}`,
};

const LIST_KIND: Statement = {
  name: 'list-contexts-of-kind',
  text: `SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c WHERE ${IN_ROUND} AND c.kind = $6 ${NEWEST_FIRST}`,
};

const LIST_LABEL: Statement = {
  name: 'list-contexts-with-label',
  text: `SELECT ${CONTEXT_COLUMNS} FROM quipu.context_labels l JOIN quipu.contexts c ON c.id = l.context
    WHERE l.label = $6 AND ($7::text IS NULL OR c.kind = $7) AND ${IN_ROUND} ${NEWEST_FIRST}`,
};

const FAR = Number.MAX_SAFE_INTEGER;

export async function listContexts(database: Database, query: ContextQuery): Promise<ContextList> {
  return database.read(async (sql) => {
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
  });
}

async function list(
  sql: Sql,
  { kind, label }: ContextQuery,
  { floor, at }: Cursor,
  limit: number,
): Promise<readonly ContextColumns[]> {
  const values = [floor.seq, floor.ms, at?.updatedAt ?? FAR, at?.id ?? FAR, limit];
  if (label !== undefined) return sql.query(LIST_LABEL, [...values, label, kind ?? null]);
  if (kind !== undefined) return sql.query(LIST_KIND, [...values, kind]);
  return sql.query(LIST_ALL, values);
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
  throw invalid('cursor', 'is not one that a listing gave; start again without it');
}
