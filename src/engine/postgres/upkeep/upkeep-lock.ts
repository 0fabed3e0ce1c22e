import { QuipuError } from '../../../base/errors.ts';
import type { Statement } from '../../../postgres/sql.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import { type Clock, TAKE_CLOCK } from '../commit/clock.ts';
import { IS_GONE } from '../presence.ts';

// One piece of upkeep at a time, over all servers. Who holds it stands in the clock; one whose server is
// gone holds nothing.

export const HOLDER: Statement = {
  name: 'upkeep-holder',
  text: `SELECT c.upkeep FROM clock c JOIN servers s ON s.id = c.upkeep_owner
    WHERE c.upkeep IS NOT NULL AND NOT (${IS_GONE})`,
};

/** Takes the clock, and refuses when somebody is at it: LOCKED. */
export async function takeClockAlone(transaction: Transaction, what: string): Promise<Clock> {
  const [[clock], [holder]] = await Promise.all([
    transaction.query<Clock>(TAKE_CLOCK),
    transaction.query<{ upkeep: string }>(HOLDER),
  ]);
  if (clock === undefined) throw new Error('the store has no clock');
  if (holder === undefined) return clock;
  throw new QuipuError('LOCKED', `${what} cannot run beside ${holder.upkeep}; wait for its end`, {
    what: 'upkeep',
    owner: holder.upkeep,
  });
}
