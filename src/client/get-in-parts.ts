import type { Found, Wanted } from '../engine/engine.ts';
import type { ContextRow, PatchRow, TurnRow } from '../engine/rows.ts';
import { MANY_CONTEXTS_MAX, MANY_RECORDS_MAX } from '../wire/limits.ts';

/** Gets any number of records, with as many requests as needed: mostly one. */
export async function getInParts(
  { contexts = [], turns = [], patches = [] }: Wanted,
  ask: (some: Wanted) => Promise<Found>,
): Promise<Found> {
  const found = {
    contexts: [] as ContextRow[],
    turns: [] as TurnRow[],
    patches: [] as PatchRow[],
  };
  for (let nth = 0; ; nth += 1) {
    const some = {
      contexts: part(contexts, nth, MANY_CONTEXTS_MAX),
      turns: part(turns, nth, MANY_RECORDS_MAX),
      patches: part(patches, nth, MANY_RECORDS_MAX),
    };
    if (some.contexts.length + some.turns.length + some.patches.length === 0) return found;
    const read = await ask(some);
    found.contexts.push(...read.contexts);
    found.turns.push(...read.turns);
    found.patches.push(...read.patches);
  }
}

function part<T>(list: readonly T[], nth: number, size: number): readonly T[] {
  return list.slice(nth * size, (nth + 1) * size);
}
