import type { Tails } from '../truth/tails.ts';

// Tells the age of a blob without a timestamp in its record. Every checkpoint notes the ends of the packs, and
// everything before a noted end is at least as old as the note.

export interface Age {
  readonly ms: number;
  readonly nextPack: number;
  readonly packs: readonly { readonly number: number; readonly length: number }[];
}

export function ageOf(tails: Tails, ms: number): Age {
  const packs = tails.packs.map(({ number, length }) => ({ number, length }));
  return { ms, nextPack: tails.nextPack, packs };
}

/** True when the record at `offset` of `pack` existed at that time. */
export function wasThere({ nextPack, packs }: Age, pack: number, offset: number): boolean {
  if (pack >= nextPack) return false;
  const open = packs.find(({ number }) => number === pack);
  return open === undefined || offset < open.length;
}

/** The newest note that is at least `graceMs` old. Undefined when there is none. */
export function ageBefore(ages: readonly Age[], nowMs: number, graceMs: number): Age | undefined {
  return ages.filter(({ ms }) => ms <= nowMs - graceMs).at(-1);
}

/** Adds a note and drops others, so that a few notes cover years: the older the notes, the farther apart. */
export function noteAge(ages: readonly Age[], age: Age): readonly Age[] {
  const kept: Age[] = [];
  for (const [index, note] of ages.entries()) {
    const before = kept.at(-1);
    const after = ages[index + 1] ?? age;
    // Without this note the gap would still be small for its age.
    const gap = after.ms - (before?.ms ?? -Infinity);
    if (gap > Math.max(1000, (age.ms - after.ms) / 4)) kept.push(note);
  }
  return [...kept, age];
}
