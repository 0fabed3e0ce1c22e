import type pg from 'pg';
import { QuipuError } from '../base/errors.ts';
import { ask } from './ask.ts';
import type { Wording } from './wording.ts';

export interface Greeting {
  /** The database, without its password. */
  readonly name: string;
  readonly wording: Wording;
  /** The time limit of a statement. */
  readonly statementMs: number;
  /** The store that all connections must lead to, once it is known. */
  readonly store: string | undefined;
}

/**
 * Runs before anything else on a connection. The statement timeout is set only on a direct connection, because a
 * pooler would pass the setting on to others. A direct connection has the process id that the server reports.
 */
export async function greet(client: pg.ClientBase, greeting: Greeting): Promise<void> {
  const { name, wording, statementMs, store } = greeting;
  const own = (client as unknown as { readonly processID: number | null }).processID ?? 0;
  const found = store === undefined ? 'NULL' : '(SELECT store FROM quipu.clock)';
  const [row] = await ask<{ store: string | null }>(
    client,
    wording,
    `SELECT ${found} AS store,
      CASE WHEN pg_backend_pid() = ${own} THEN set_config('statement_timeout', '${statementMs}', false) END`,
  );
  if (store !== undefined) assertStore(name, store, row?.store ?? 'none');
}

/** Throws UNSUPPORTED when the connection leads to another store. */
export function assertStore(name: string, expected: string, found: string): void {
  if (found === expected) return;
  throw new QuipuError(
    'UNSUPPORTED',
    `${name}: a connection leads to another store (${found}) than the one that was opened (${expected}); let the pooler or balancer in between send all connections to one database, or open the store again`,
    { what: 'store', found },
  );
}
