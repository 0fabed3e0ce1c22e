import { NO_TURN, toTurnId } from '../../base/brand.ts';
import type { Store } from '../../store/store.ts';
import { countAt, listAt, textAt } from '../source/fields.ts';
import type { Source } from '../source/source.ts';
import { Ledger } from './ledger.ts';

/** Records of a session that are no turns, by the turn that they came after; `0` for those before all turns. */
export type Asides = ReadonlyMap<string, readonly string[]>;

export async function readAsides(store: Store, source: Source, session: string): Promise<Asides> {
  const ledger = await Ledger.open(store, source, true);
  const groups: (readonly unknown[])[] = [];
  for (let id = ledger.sessions.get(session)?.entry ?? NO_TURN; id !== NO_TURN;) {
    const entry = await store.contexts.turn(id);
    let before = entry?.parent ?? NO_TURN;
    for (let left = countAt(entry?.payload, 'asides'); left > 0; left -= 1) {
      const turn = await store.contexts.turn(before);
      groups.push(listAt(turn?.payload, 'records'));
      before = turn?.parent ?? NO_TURN;
    }
    id = toTurnId(textAt(entry?.payload, 'before') ?? '0', true);
  }
  const asides = new Map<string, string[]>();
  for (const row of groups.toReversed().flat()) {
    const [turn, what, raw] = Array.isArray(row) ? row.map(String) : [];
    if (what !== 'record' || turn === undefined || raw === undefined) continue;
    asides.set(turn, [...(asides.get(turn) ?? []), raw]);
  }
  return asides;
}
