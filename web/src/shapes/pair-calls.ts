import type { Block, Shown } from './shown.ts';

// A call and its result are one thing to a reader, however many turns they were written in. This decides which turns
// are shown inside another one. It is pure.

type Result = Block & { kind: 'result' };

/** What is known of a turn before it is drawn. */
export interface ShownTurn<T> {
  readonly turn: T;
  readonly shown: Shown;
  /** Unix time in milliseconds. */
  readonly at: number;
  /** There is something to show: the turn is neither hidden nor left out. */
  readonly isReadable: boolean;
}

export interface Answer {
  readonly result: Result;
  /** The turn that the result was written in. */
  readonly turn: string;
  readonly tookMs: number;
}

/** A turn with the turns after it that only answer its calls. */
export interface Knot<T> {
  readonly turn: T;
  readonly shown: Shown;
  readonly more: readonly T[];
  /** By the place of the call among the blocks. */
  readonly answers: ReadonlyMap<number, Answer>;
}

export function pairCalls<T extends { readonly id: string }>(
  turns: readonly ShownTurn<T>[],
): Knot<T>[] {
  const knots: (Knot<T> & { more: T[]; answers: Map<number, Answer> })[] = [];
  const names = new Map<string, string>();
  let asked: ShownTurn<T> | undefined;
  for (const one of turns) {
    for (const block of one.shown.blocks) {
      if (block.kind === 'call' && block.id !== undefined) names.set(block.id, block.name);
    }
    const knot = knots.at(-1);
    const places =
      asked === undefined || knot === undefined ? undefined : placesFor(one, asked, knot.answers);
    if (asked === undefined || knot === undefined || places === undefined) {
      const shown = { ...one.shown, blocks: one.shown.blocks.map((block) => named(block, names)) };
      knots.push({ turn: one.turn, shown, more: [], answers: new Map() });
      asked =
        one.isReadable && one.shown.blocks.some(({ kind }) => kind === 'call') ? one : undefined;
      continue;
    }
    knot.more.push(one.turn);
    for (const [place, result] of places) {
      knot.answers.set(place, {
        result,
        turn: one.turn.id,
        tookMs: Math.max(0, one.at - asked.at),
      });
    }
  }
  return knots;
}

/** The calls that the turn answers, or undefined when it says anything else. */
function placesFor<T>(
  { shown, isReadable }: ShownTurn<T>,
  asked: ShownTurn<T>,
  answered: ReadonlyMap<number, Answer>,
): [number, Result][] | undefined {
  if (!isReadable || shown.blocks.length === 0) return undefined;
  const taken = new Set(answered.keys());
  const places: [number, Result][] = [];
  for (const block of shown.blocks) {
    if (block.kind !== 'result') return undefined;
    const place = asked.shown.blocks.findIndex(
      (call, at) => call.kind === 'call' && !taken.has(at) && isAnswer(block, call),
    );
    if (place === -1) return undefined;
    taken.add(place);
    places.push([place, block]);
  }
  return places;
}

/** By id where both have one, else by name where both have one; a result without either answers the next call. */
function isAnswer(result: Result, call: Block & { kind: 'call' }): boolean {
  if (result.id !== undefined && call.id !== undefined) return result.id === call.id;
  return result.name === undefined || result.name === call.name;
}

/** A result that stands apart from its call says which one it answers. */
function named(block: Block, names: ReadonlyMap<string, string>): Block {
  if (block.kind !== 'result' || block.name !== undefined || block.id === undefined) return block;
  const name = names.get(block.id);
  return name === undefined ? block : { ...block, name };
}
