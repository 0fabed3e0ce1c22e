import { expect, it } from 'vitest';
import {
  addLive,
  addNewer,
  addOlder,
  hasNewer,
  hasOlder,
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
  grewUp: false,
});
const ids = ({ turns }: TurnWindow): number[] => turns.map(({ id }) => Number(id));

it('grows at both ends without a gap', () => {
  const middle = window(50, 60, 99);
  expect(hasOlder(middle)).toBe(true);
  expect(hasNewer(middle)).toBe(true);
  const older = addOlder(middle, run(40, 50));
  expect(ids(older)).toEqual(ids(window(40, 60, 99)));
  expect(older.grewUp).toBe(true);
  expect(ids(addNewer(middle, run(60, 70), 99))).toEqual(ids(window(50, 70, 99)));
});

it('refuses a page that does not fit to its end', () => {
  const middle = window(50, 60, 99);
  expect(addOlder(middle, run(30, 45))).toBe(middle);
  expect(ids(addNewer(middle, run(65, 70), 99))).toEqual(ids(middle));
});

it('lets turns go at the far end when it is full', () => {
  const full = window(1000, 1000 + WINDOW_TURNS, 5000);
  const up = addOlder(full, run(900, 1000));
  expect(up.turns).toHaveLength(WINDOW_TURNS);
  expect(up.turns[0]?.id).toBe('900');
  expect(hasNewer(up)).toBe(true);
  const down = addNewer(full, run(1000 + WINDOW_TURNS, 1100 + WINDOW_TURNS), 5000);
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
