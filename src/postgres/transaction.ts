import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { ask } from './sql.ts';
import type { Sql, Statement, Wording } from './sql.ts';
import { failureOf } from './pg-error.ts';

// A transaction whose outcome can be asked for afterwards. The transaction writes a unique token. A client that
// loses the connection during COMMIT writes the same token with another mark. This second write waits as long as
// the first transaction is undecided. Then either the first token is there, and the transaction was committed, or
// the second mark is there, and the transaction can never be committed.

export interface Transaction extends Sql {
  /** Sends a statement without waiting for it. If the statement fails, the transaction fails. */
  send(statement: Statement | string, values?: readonly unknown[]): void;
}

export type Ran<T> =
  | { readonly outcome: 'committed'; readonly value: T }
  | { readonly outcome: 'failed'; readonly error: unknown; readonly broken: boolean }
  | { readonly outcome: 'unknown'; readonly error: unknown; readonly broken: true; value: T };

/** A token begins with the time. So new tokens are written side by side, and one range deletes the old ones. */
export function newToken(nowMs: number): string {
  const hex = nowMs.toString(16).padStart(12, '0') + randomBytes(10).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * A server that stops in the middle of a transaction holds its locks no longer than this. The clock is one of these
 * locks, and other servers wait for it meanwhile.
 */
const IDLE_MS = 1500;

export interface TransactionTerms {
  readonly token: string;
  readonly wording: Wording;
  /** The time limit of a statement. */
  readonly statementMs: number;
}

/** Runs `work` once. The caller releases the client, and drops it when it is broken. */
export async function runTransaction<T>(
  client: pg.ClientBase,
  { token, wording, statementMs }: TransactionTerms,
  work: (transaction: Transaction) => Promise<T>,
): Promise<Ran<T>> {
  const sent: Promise<unknown>[] = [];
  let value: T;
  // BEGIN is not awaited: the next statements travel with it and fail with it. Every statement sees all that was
  // committed before the statement began. So a statement that waits for a lock reads what the lock's last holder
  // wrote.
  const begun = client.query(
    wording.textOf(
      `${beginning('READ COMMITTED', statementMs, IDLE_MS)}; INSERT INTO quipu.transactions (token, done) VALUES ('${token}', true)`,
    ),
  );
  begun.catch(() => undefined);
  sent.push(begun);
  try {
    value = await work(toTransaction(client, wording, sent));
  } catch (thrown) {
    await Promise.allSettled(sent);
    // When BEGIN failed, every later error only repeats that failure.
    const error: unknown = await begun.then(
      () => thrown,
      (reason: unknown) => reason,
    );
    return { outcome: 'failed', error, broken: !(await rollBack(client, error)) };
  }
  // All statements travel together: a COMMIT after a failed statement is a rollback.
  const committing = client.query('COMMIT');
  const results = await Promise.allSettled([...sent, committing]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined && (await committing).command === 'COMMIT')
    return { outcome: 'committed', value };
  const error: unknown = failed?.reason ?? new Error('the server rolled the transaction back');
  const ended = await committing.then(
    ({ command }) => command === 'ROLLBACK',
    (reason: unknown) => isTakenBack(reason),
  );
  if (ended) return { outcome: 'failed', error, broken: isReadOnly(error) };
  return { outcome: 'unknown', error, broken: true, value };
}

/** True when the transaction with this token was committed; false when it was not and never will be. */
export async function settleToken(
  client: pg.ClientBase,
  wording: Wording,
  token: string,
): Promise<boolean> {
  await ask(
    client,
    wording,
    'INSERT INTO quipu.transactions (token, done) VALUES ($1, false) ON CONFLICT DO NOTHING',
    [token],
  );
  const [row] = await ask<{ done: boolean }>(
    client,
    wording,
    'SELECT done FROM quipu.transactions WHERE token = $1',
    [token],
  );
  return row?.done === true;
}

/** The limits belong to the transaction: a pooler may forget a connection's settings or give them to others. */
export function beginning(isolation: string, statementMs: number, idleMs: number): string {
  return `BEGIN ISOLATION LEVEL ${isolation}; SET LOCAL statement_timeout = ${statementMs};
    SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`;
}

function toTransaction(
  client: pg.ClientBase,
  wording: Wording,
  sent: Promise<unknown>[],
): Transaction {
  return {
    query: (...given) => ask(client, wording, ...given),
    send: (statement, values) => {
      const asked = ask(client, wording, statement, values);
      // The commit awaits this promise. Until then no caller holds it.
      asked.catch(() => undefined);
      sent.push(asked);
    },
  };
}

/** False when the connection is of no more use. */
async function rollBack(client: pg.ClientBase, error: unknown): Promise<boolean> {
  if (failureOf(error) === 'lost' || isReadOnly(error)) return false;
  try {
    await client.query('ROLLBACK');
    return true;
  } catch {
    // The connection was lost meanwhile, and the transaction with it.
    return false;
  }
}

/** A server that takes no writes may be the wrong one by now: the next connection looks again. */
function isReadOnly(error: unknown): boolean {
  return isCode(error, /^25006$/);
}

/** The server says itself that nothing was committed: a conflict, a broken rule, a failed transaction. */
function isTakenBack(error: unknown): boolean {
  return isCode(error, /^(?:40(?!003)|23|25)/);
}

function isCode(error: unknown, pattern: RegExp): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && pattern.test(code);
}

/**
 * Sends a statement that takes rows: a list for each of their columns, and `more` values behind. Sends nothing when there
 * are no rows.
 */
export function sendRows(
  transaction: Transaction,
  statement: Statement,
  rows: readonly (readonly unknown[])[],
  ...more: unknown[]
): void {
  const [first] = rows;
  if (first === undefined) return;
  const columns = first.map((_, at) => rows.map((row) => row[at]));
  transaction.send(statement, [...columns, ...more]);
}
