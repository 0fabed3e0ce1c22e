import type pg from 'pg';
import type { Statement } from './sql.ts';
import type { Wording } from './wording.ts';

/** Asks over one connection. */
export async function ask<R extends object>(
  client: pg.ClientBase,
  wording: Wording,
  statement: Statement | string,
  values: readonly unknown[] = [],
): Promise<readonly R[]> {
  const config = { ...wording.of(statement), values: [...values] };
  const { rows } = await client.query<R & pg.QueryResultRow>(config);
  return rows;
}
