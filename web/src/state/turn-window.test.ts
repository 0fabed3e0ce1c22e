import { expect, it } from 'vitest';
import {
  addLive,
  addNewer,
  addOlder,
  hasNewer,
  hasOlder,
  PAGE_TURNS,
  trimWindow,
  WINDOW_TURNS,
  type TurnJson,
  type TurnWindow,
} from './turn-window.ts';

/** Turn `n` of a straight chain: its depth is `n - 1`. */
const turn = (n: number, parent = n - 1): TurnJson =>
  ({ id: String(n), parent: String(parent), depth: n - 1 }) as TurnJson;
const run = (from: number, to: number): TurnJson[] =>
  Array.from({ length: to - from }, (_, at) => turn(from + at));
const window = (from: number, to: number, headDepth: number): TurnWindow => ({
  turns: run(from, to),
  headDepth,
  atTop: false,
});
const ids = ({ turns }: TurnWindow): number[] => turns.map(({ id }) => Number(id));

it('grows at both ends without a gap', () => {
  const middle = window(50, 60, 99);
  expect(hasOlder(middle)).toBe(true);
  expect(hasNewer(middle)).toBe(true);
  const older = addOlder(middle, run(40, 50));
  expect(ids(older)).toEqual(ids(window(40, 60, 99)));
  expect(older.atTop).toBe(true);
  expect(ids(addNewer(middle, run(60, 70), 99))).toEqual(ids(window(50, 70, 99)));
});

it('refuses a page that does not fit to its end', () => {
  const middle = window(50, 60, 99);
  expect(addOlder(middle, run(30, 45))).toBe(middle);
  expect(ids(addNewer(middle, run(65, 70), 99))).toEqual(ids(middle));
});

it('lets turns go at the far end when it is full', () => {
  const full = window(1000, 1000 + WINDOW_TURNS, 5000);
  const up = trimWindow(addOlder(full, run(900, 1000)));
  expect(up.turns).toHaveLength(WINDOW_TURNS);
  expect(up.turns[0]?.id).toBe('900');
  expect(hasNewer(up)).toBe(true);
  expect(up.atTop).toBe(false);
  const down = trimWindow(addNewer(full, run(1000 + WINDOW_TURNS, 1100 + WINDOW_TURNS), 5000));
  expect(down.atTop).toBe(true);
  expect(down.turns).toHaveLength(WINDOW_TURNS);
  expect(down.turns[0]?.id).toBe('1100');
});

it('takes a live turn at the end, once', () => {
  const end = window(50, 60, 58);
  const grown = addLive(end, turn(60));
  expect(grown && ids(grown)).toEqual(ids(window(50, 61, 59)));
  expect(grown && addLive(grown, turn(60))).toBe(grown);
});

it('asks to be read anew when the head went to another branch', () => {
  expect(addLive(window(50, 60, 58), turn(77, 30))).toBeUndefined();
});

it('notes only the length when the end is not in sight', () => {
  const middle = window(50, 60, 99);
  expect(addLive(middle, turn(101, 100))).toMatchObject({ headDepth: 100, turns: middle.turns });
});

it('walks through a million turns with a window that never grows, in both directions', () => {
  const million = 1_000_000;
  let at = window(1, 1 + PAGE_TURNS, million - 1);
  let pages = 0;
  for (; hasNewer(at); pages += 1) {
    const next = Number(at.turns.at(-1)?.id) + 1;
    at = trimWindow(addNewer(at, run(next, Math.min(next + PAGE_TURNS, million + 1)), million - 1));
    if (at.turns.length > WINDOW_TURNS + PAGE_TURNS) break;
  }
  expect(pages).toBe(Math.ceil((million - PAGE_TURNS) / PAGE_TURNS));
  expect(at.turns.at(-1)?.id).toBe(String(million));
  expect(at.turns.length).toBeLessThanOrEqual(WINDOW_TURNS + PAGE_TURNS);
  for (let page = 0; page < 100; page += 1) {
    const first = Number(at.turns[0]?.id);
    at = trimWindow(addOlder(at, run(first - PAGE_TURNS, first)));
  }
  const first = Number(at.turns[0]?.id);
  expect(ids(at)).toEqual(ids(window(first, first + at.turns.length, 0)));
  expect(at.turns.length).toBeLessThanOrEqual(WINDOW_TURNS + PAGE_TURNS);
});

it('is never higher than what a browser can draw', () => {
  // A browser puts nothing beyond 16,777,216 pixels. No list is longer than this window, however long its thread is.
  const highestPx = 10_000;
  expect((WINDOW_TURNS + PAGE_TURNS) * highestPx).toBeLessThan(2 ** 24);
});
