import { toTurnId } from '../../src/base/brand.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { turnOf } from '../../src/testing/engine-suite/fixture.ts';
import { describeDifference } from './describe-difference.ts';
import type { Promised } from './oracle.ts';
import { readText } from './read-text.ts';

/**
 * Throws unless the store shows one of the promised states, whole and undamaged, and takes commits.
 * Returns the state that it shows.
 */
export async function checkRecovered(
  engine: Engine,
  promised: Promised,
  thoroughly: boolean,
): Promise<string> {
  const text = await readText(engine, thoroughly);
  // The promised text, not its equal: who keeps many of them keeps each one once.
  const found = promised.find((one) => one === text);
  if (found === undefined) throw new Error(describeDifference(text, promised));
  if (!thoroughly) return found;
  const { damage, turns } = await engine.stats();
  if (damage.length > 0) throw new Error(`reports damage: ${JSON.stringify(damage)}`);
  await checkWriting(engine, turns);
  return found;
}

/** New turns get new ids; a key applies once, before and after a clean closing. */
async function checkWriting(engine: Engine, turns: number): Promise<void> {
  const { contexts } = await engine.commit({ contexts: [{ do: 'create' }] });
  const context = contexts[0]?.id;
  if (context === undefined) throw new Error('no context was created');
  const { blob, turn } = turnOf(context, 'after the crash');
  const batch = { idempotency: { context, key: 'after' }, blobs: [blob], turns: [turn] };
  const first = await engine.commit(batch);
  const again = await engine.commit(batch);
  const id = first.turns[0]?.id;
  if (id !== toTurnId(turns + 1)) throw new Error(`turn ${id} follows ${turns} turns`);
  if (!again.replayed || again.turns[0]?.id !== id) throw new Error('the key applied twice');
  await engine.close();
}
