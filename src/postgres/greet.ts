import type pg from 'pg';
import { QuipuError } from '../base/errors.ts';
import { ask } from './ask.ts';
import type { Wording } from './wording.ts';

export interface Greeting {
  /** The database, without its password. */
  readonly name: string;
  readonly wording: Wording;
  /** How long a statement may take. */
  readonly statementMs: number;
  /** The store that all connections must lead to, once it is known. */
  readonly store: string | undefined;
}

/**
 * Before anything else is said over a connection. A setting of the connection is only made where nobody stands between:
 * a pooler would give it to others. Who stands there is known by the number that the server has for the connection.
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

/** UNSUPPORTED when it is another one. */
export function assertStore(name: string, expected: string, found: string): void {
  if (found === expected) return;
  throw new QuipuError(
    'UNSUPPORTED',
    `${name}: a connection leads to another store (${found}) than the one that was opened (${expected}); let the pooler or balancer in between send all connections to one database, or open the store again`,
    { what: 'store', found },
  );
}
