import type pg from 'pg';
import { hashText } from '../base/hash.ts';

/**
 * A statement with a name is prepared once for each connection. Use names only for a small, fixed set of texts.
 * Tables are written with their schema, `quipu.turns`, whichever schema they are in: see `Wording`.
 */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** The time limit, in milliseconds, of a statement that may take longer than others. */
  readonly query_timeout?: number;
}

/** Writes a statement that is prepared: prepared('get-log')`SELECT …`. */
export function prepared(
  name: string,
): (texts: TemplateStringsArray, ...values: readonly (string | number)[]) => Statement {
  return (texts, ...values) => ({ name, text: String.raw({ raw: texts }, ...values) });
}

/** Answers with rows. `bigint` columns come as numbers. */
export interface Sql {
  query<R extends object>(
    statement: Statement | string,
    values?: readonly unknown[],
  ): Promise<readonly R[]>;
}

const TABLE = /\bquipu\./g;
const HASH_CHARS = 12;

/**
 * Words statements for the schema of the store. Statements are written for the schema `quipu` and name it at every
 * table, because a pooler may forget the search path of a connection. The name of a prepared statement also
 * identifies its text. So a connection that another store used before cannot mix up the two.
 */
export class Wording {
  readonly #schema: string;
  readonly #named: Map<string, Statement> = new Map();

  /** Trusts the name to need no quotes. */
  constructor(schema: string) {
    this.#schema = schema;
  }

  textOf(text: string): string {
    return this.#schema === 'quipu' ? text : text.replaceAll(TABLE, `${this.#schema}.`);
  }

  of(statement: Statement | string): Statement | { readonly text: string } {
    if (typeof statement === 'string') return { text: this.textOf(statement) };
    const known = this.#named.get(statement.text);
    if (known !== undefined) return known;
    const text = this.textOf(statement.text);
    const name = `${statement.name}-${hashText(text).slice(0, HASH_CHARS)}`;
    const worded = { ...statement, name, text };
    this.#named.set(statement.text, worded);
    return worded;
  }
}

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

/**
 * Yields the rows of a statement page by page, until there are none. The first value of the statement is the place
 * behind which a page begins, and the second the number of its rows. `at` tells the place of a row.
 */
export async function* pagesOf<R extends object, Place>(
  sql: Sql,
  statement: Statement | string,
  { begin, at, rows, more = [] }: Paging<R, Place>,
): AsyncGenerator<readonly R[], void, undefined> {
  for (let place = begin; ;) {
    const page = await sql.query<R>(statement, [place, rows, ...more]);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    place = at(last);
  }
}

export interface Paging<R, Place> {
  readonly begin: Place;
  readonly at: (row: R) => Place;
  readonly rows: number;
  /** Further values of the statement. */
  readonly more?: readonly unknown[];
}
