import { toTurnId } from '../../src/base/brand.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { turnOf } from '../../src/testing/engine-suite/fixture.ts';
import type { Promised } from './oracle.ts';
import { readText } from './read-text.ts';

/** Throws unless the store shows one of the promised states, whole and undamaged, and takes commits. */
export async function checkRecovered(
  engine: Engine,
  promised: Promised,
  thoroughly: boolean,
): Promise<void> {
  const text = await readText(engine);
  if (!promised.includes(text)) throw new Error(describeDifference(text, promised));
  const { damage, turns } = await engine.stats();
  if (damage.length > 0) throw new Error(`reports damage: ${JSON.stringify(damage)}`);
  if (!thoroughly) return;
  await checkWriting(engine, turns);
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

function describeDifference(text: string, promised: Promised): string {
  const nearest = promised[0] ?? '';
  let at = 0;
  while (at < text.length && text[at] === nearest[at]) at += 1;
  const around = (whole: string): string => whole.slice(Math.max(0, at - 200), at + 200);
  return `none of ${promised.length} promised states\nfound    …${around(text)}\nexpected …${around(nearest)}`;
}
