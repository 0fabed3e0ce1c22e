import { isQuipuError, locked } from '../../../base/errors.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared, type Statement } from '../../../postgres/sql.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import { IS_GONE } from './presence.ts';

/** The one row that every commit locks: the next ids to hand out, and the totals of the store. */
export interface Clock {
  readonly seq: number;
  readonly next_turn: number;
  readonly next_context: number;
  readonly next_patch: number;
  readonly time_ms: number;
  /** The collection in progress, which needs to know what commits rely on. */
  readonly collection: string | null;
  /** The id of the store. */
  readonly store: string;
  /** Absent when the clock is locked. */
  readonly version?: string;
}

/** The lock is held to the end of the transaction: commits are serial over all servers. */
export const TAKE_CLOCK: Statement = prepared('take-clock')`
  SELECT seq, next_turn, next_context, next_patch, time_ms, collection, store FROM quipu.clock FOR UPDATE`;

/** Reads the clock without a lock. Its version differs after every change of the row. */
export const READ_CLOCK: Statement = prepared('read-clock')`
  SELECT seq, next_turn, next_context, next_patch, time_ms, collection, store, xmin::text AS version
  FROM quipu.clock`;

/**
 * Locks the clock if it still has this version. Otherwise the statement fails with an error that nothing else here
 * raises, and the transaction fails with it. So later statements need not wait for its answer.
 */
export const HOLD_CLOCK: Statement = prepared('hold-clock')`
  SELECT 1 / count(*) FROM (SELECT 1 FROM quipu.clock WHERE xmin = $1::text::xid FOR UPDATE) held`;
const MOVED = '22012';

/** True for the error of a transaction whose clock had another version. */
export function isClockMoved(error: unknown): boolean {
  return isQuipuError(error, 'IO') && error.data.errno === MOVED;
}

/** Locks the clock of the store that was opened, and of no other store. */
export async function takeClock(database: Database, transaction: Transaction): Promise<Clock> {
  return askClock(TAKE_CLOCK, database, transaction);
}

/** Reads the same clock without a lock. */
export async function readClock(database: Database, transaction: Transaction): Promise<Clock> {
  return askClock(READ_CLOCK, database, transaction);
}

async function askClock(
  statement: Statement,
  database: Database,
  transaction: Transaction,
): Promise<Clock> {
  const [clock] = await transaction.query<Clock>(statement);
  if (clock === undefined) throw new Error('the store has no clock');
  database.assertStore(clock.store);
  return clock;
}

const TOTALS = [
  'turns',
  'contexts',
  'blobs',
  'blobBytes',
  'storedBytes',
  'logicalBytes',
  'logs',
  'docs',
] as const;

/** The totals that a commit added. */
export type Totals = Record<(typeof TOTALS)[number], number>;

export function nothingAdded(): Totals {
  return Object.fromEntries(TOTALS.map((name) => [name, 0])) as Totals;
}

export const SET_CLOCK: Statement = prepared('set-clock')`
  UPDATE quipu.clock SET seq = $1, next_turn = $2, next_context = $3, next_patch = $4, time_ms = $5,
  turns = turns + $6, contexts = contexts + $7, blobs = blobs + $8, blob_bytes = blob_bytes + $9,
  stored_bytes = stored_bytes + $10, logical_bytes = logical_bytes + $11, logs = logs + $12, docs = docs + $13`;

const ADD_TOTALS = prepared('add-totals')`
  UPDATE quipu.clock SET turns = turns + $1, contexts = contexts + $2, blobs = blobs + $3,
  blob_bytes = blob_bytes + $4, stored_bytes = stored_bytes + $5, logical_bytes = logical_bytes + $6,
  logs = logs + $7, docs = docs + $8`;

/** The values in the order of the statements above. */
export function totalValues(totals: Readonly<Totals>): number[] {
  return TOTALS.map((name) => totals[name]);
}

/** For transactions that only remove things: changes the totals alone. */
export function addTotals(transaction: Transaction, added: Partial<Totals>): void {
  transaction.send(ADD_TOTALS, totalValues({ ...nothingAdded(), ...added }));
}

// Only one upkeep task runs at a time, over all servers. The clock names its holder. A holder whose server is gone
// holds nothing.

export const HOLDER: Statement = prepared('upkeep-holder')`
  SELECT c.upkeep FROM quipu.clock c JOIN quipu.servers s ON s.id = c.upkeep_owner
  WHERE c.upkeep IS NOT NULL AND NOT (${IS_GONE})`;

/** Locks the clock. Throws LOCKED when another upkeep task runs. */
export async function takeClockAlone(
  database: Database,
  transaction: Transaction,
  what: string,
): Promise<Clock> {
  const [clock, [holder]] = await Promise.all([
    takeClock(database, transaction),
    transaction.query<{ upkeep: string }>(HOLDER),
  ]);
  if (holder === undefined) return clock;
  throw locked(
    'upkeep',
    holder.upkeep,
    `${what} cannot run while ${holder.upkeep} runs; wait until it ends`,
  );
}
