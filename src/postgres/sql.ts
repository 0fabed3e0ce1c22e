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

/** Answers with rows. `bigint` columns come as numbers. */
export interface Sql {
  query<R extends object>(
    statement: Statement | string,
    values?: readonly unknown[],
  ): Promise<readonly R[]>;
}
