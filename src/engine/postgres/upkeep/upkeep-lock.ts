import { QuipuError } from '../../../base/errors.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Statement } from '../../../postgres/sql.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import { type Clock, takeClock } from '../commit/clock.ts';
import { IS_GONE } from '../presence.ts';

// Only one upkeep task runs at a time, over all servers. The clock names its holder. A holder whose server is gone
// holds nothing.

export const HOLDER: Statement = {
  name: 'upkeep-holder',
  text: `SELECT c.upkeep FROM quipu.clock c JOIN quipu.servers s ON s.id = c.upkeep_owner
    WHERE c.upkeep IS NOT NULL AND NOT (${IS_GONE})`,
};

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
  throw new QuipuError('LOCKED', `${what} cannot run beside ${holder.upkeep}; wait for its end`, {
    what: 'upkeep',
    owner: holder.upkeep,
  });
}
