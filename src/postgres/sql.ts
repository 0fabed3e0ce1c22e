import type pg from 'pg';

/** With a name it is prepared once for each connection; for texts of which there are few. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** For one that may take longer than others, in milliseconds. */
  readonly query_timeout?: number;
}

/** Answers with rows. `bigint` columns come as numbers. */
export interface Sql {
  query<R extends object>(
    statement: Statement | string,
    values?: readonly unknown[],
  ): Promise<readonly R[]>;
}

/** Asks over one connection. */
export async function ask<R extends object>(
  client: pg.ClientBase,
  statement: Statement | string,
  values: readonly unknown[] = [],
): Promise<readonly R[]> {
  const config = typeof statement === 'string' ? { text: statement } : statement;
  const { rows } = await client.query<R & pg.QueryResultRow>({ ...config, values: [...values] });
  return rows;
}
