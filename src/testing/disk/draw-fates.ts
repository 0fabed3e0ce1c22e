import type { PendingEntry, PendingWrite } from './disk-state.ts';
import type { SeededRandom } from './seeded-random.ts';

/** The fate of a change that no sync has covered. Only a write can meet the last three. */
export type Fate =
  | { readonly do: 'keep' }
  | { readonly do: 'lose' }
  /** The file has the new length, and zeros where it grew. */
  | { readonly do: 'zero' }
  /** The first `taken` bytes are there; with `extended`, so is the new length. */
  | { readonly do: 'tear'; readonly taken: number; readonly extended: boolean }
  /** Each sector is there or not. */
  | { readonly do: 'sectors'; readonly seed: number };

type Change = PendingWrite | PendingEntry;

const KEEP: Fate = { do: 'keep' };
const LOSE: Fate = { do: 'lose' };
const ZERO: Fate = { do: 'zero' };

/**
 * Yields fates for all of `changes`, up to `limit` times: first the extremes, then all subsets if they are few, then
 * samples.
 */
export function* drawFates(
  changes: readonly Change[],
  limit: number,
  random: SeededRandom,
): Generator<Fate[]> {
  const open = changes.flatMap((change, index) => (change.sure ? [] : [index]));
  const all = (fate: Fate): Fate[] => changes.map((change) => (change.sure ? KEEP : fate));
  yield all(LOSE);
  if (open.length === 0 || limit < 2) return;
  yield all(KEEP);

  let drawn = 2;
  const subsets = open.length < 16 ? 2 ** open.length : Infinity;
  if (subsets <= limit / 2) {
    for (let subset = 1; subset < subsets - 1; subset++, drawn++) {
      const fates = all(LOSE);
      for (const [bit, index] of open.entries()) if ((subset >> bit) & 1) fates[index] = KEEP;
      yield fates;
    }
  }
  for (; drawn < limit; drawn++) yield sample(changes, open, random);
}

// Bugs hide in different corners: a lost change under a kept later one, a lone survivor, files that were flushed to
// different depths. Independent coins alone would rarely get there.
function sample(changes: readonly Change[], open: readonly number[], random: SeededRandom): Fate[] {
  const fates: Fate[] = changes.map(() => KEEP);
  const damage = (index: number): Fate => damaged(changes[index], random);
  switch (open.length === 1 ? 2 : random.below(5)) {
    case 0: {
      // Keeps the changes in order up to one of them, and nothing after it.
      const cut = random.below(open.length);
      for (const [nth, index] of open.entries()) if (nth > cut) fates[index] = LOSE;
      fates[open[cut] ?? 0] = damage(open[cut] ?? 0);
      break;
    }
    case 1: {
      // Keeps the changes of each file in order up to some point of its own.
      const cuts = new Map<string, number>();
      for (const index of open) {
        const path = changes[index]?.path ?? '';
        const cut = cuts.get(path) ?? random.below(changes.length + 1);
        cuts.set(path, cut);
        if (index > cut) fates[index] = LOSE;
        else if (index === cut) fates[index] = damage(index);
      }
      break;
    }
    case 2: {
      // Keeps all changes but one.
      const odd = open[random.below(open.length)] ?? 0;
      fates[odd] = damage(odd);
      break;
    }
    case 3: {
      // Keeps only one change.
      const odd = open[random.below(open.length)] ?? 0;
      for (const index of open) if (index !== odd) fates[index] = LOSE;
      if (random.chance(0.5)) fates[odd] = damage(odd);
      break;
    }
    default: {
      const keep = random.pick([0.15, 0.5, 0.85]);
      for (const index of open) if (!random.chance(keep)) fates[index] = damage(index);
    }
  }
  return fates;
}

function damaged(change: Change | undefined, random: SeededRandom): Fate {
  if (change?.do !== 'write') return LOSE;
  switch (random.below(8)) {
    case 0:
    case 1:
      return LOSE;
    case 2:
      return ZERO;
    case 3:
      return { do: 'sectors', seed: random.bits() };
    default:
      return {
        do: 'tear',
        taken: tearPoint(change.bytes.length, random),
        extended: random.chance(0.5),
      };
  }
}

/** Draws any byte. The edges and the sectors come more often than by chance. */
function tearPoint(length: number, random: SeededRandom): number {
  const byte = random.below(length + 1);
  const near = Math.min(32, length) + 1;
  switch (random.below(4)) {
    case 0:
      return random.below(near);
    case 1:
      return length - random.below(near);
    case 2:
      return Math.floor(byte / 512) * 512;
    default:
      return byte;
  }
}
