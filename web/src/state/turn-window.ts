import type { Answers } from '../api/answers.ts';

export type TurnJson = Answers['getTurn'];

// A thread may have a million turns. The page holds a window of them: a run of turns without a gap, read page by page in
// both directions. Turns at the far end leave when the window is full. These functions are pure.

export interface TurnWindow {
  /** Older first, without a gap. */
  readonly turns: readonly TurnJson[];
  readonly headDepth: number;
  /** The last change was at the older end: a list keeps what it shows in its place. */
  readonly atTop: boolean;
}

export const PAGE_TURNS = 60;
export const WINDOW_TURNS = 600;

export const EMPTY_WINDOW: TurnWindow = { turns: [], headDepth: 0, atTop: false };

export function hasOlder({ turns }: TurnWindow): boolean {
  return (turns[0]?.depth ?? 0) > 0;
}

export function hasNewer({ turns, headDepth }: TurnWindow): boolean {
  const last = turns.at(-1);
  return last !== undefined && last.depth < headDepth;
}

export function addOlder(window: TurnWindow, older: readonly TurnJson[]): TurnWindow {
  const [first] = window.turns;
  if (first !== undefined && older.at(-1)?.id !== first.parent) return window;
  return { ...window, turns: [...older, ...window.turns], atTop: true };
}

export function addNewer(
  window: TurnWindow,
  newer: readonly TurnJson[],
  headDepth: number,
): TurnWindow {
  const last = window.turns.at(-1);
  if (last !== undefined && newer[0]?.parent !== last.id) return { ...window, headDepth };
  return { turns: [...window.turns, ...newer], headDepth, atTop: false };
}

/**
 * Lets turns go at the other end than the one that grew. This is a step of its own: a list finds out what changed by the
 * number of its items, and cannot tell where they came when as many went.
 */
export function trimWindow(window: TurnWindow): TurnWindow {
  const { turns, atTop } = window;
  if (turns.length <= WINDOW_TURNS + PAGE_TURNS) return window;
  if (atTop) return { ...window, turns: turns.slice(0, WINDOW_TURNS), atTop: false };
  return { ...window, turns: turns.slice(-WINDOW_TURNS), atTop: true };
}

/**
 * Takes in a turn that was just appended. Undefined when it is on another branch than the window: then the thread is
 * read anew.
 */
export function addLive(window: TurnWindow, turn: TurnJson): TurnWindow | undefined {
  const last = window.turns.at(-1);
  if (window.turns.some(({ id }) => id === turn.id)) return window;
  if (hasNewer(window)) {
    // The end is not in sight. Only the length of the thread is noted.
    return { ...window, headDepth: Math.max(window.headDepth, turn.depth), atTop: false };
  }
  if (turn.parent !== (last?.id ?? '0')) return undefined;
  return addNewer(window, [turn], turn.depth);
}

/** Puts a turn that was patched or hidden in the place of the one that is shown. */
export function replaceTurn(window: TurnWindow, turn: TurnJson): TurnWindow {
  const turns = window.turns.map((old) => (old.id === turn.id ? turn : old));
  return { ...window, turns, atTop: false };
}
