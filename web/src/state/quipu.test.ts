import { expect, it } from 'vitest';
import { clustersOf, knotHeight } from './quipu.ts';

it('ties a cluster for each digit, and none for a zero', () => {
  expect(clustersOf(0)).toEqual([]);
  expect(clustersOf(7)).toEqual([{ place: 0, knots: 7 }]);
  expect(clustersOf(1205)).toEqual([
    { place: 3, knots: 1 },
    { place: 2, knots: 2 },
    { place: 0, knots: 5 },
  ]);
  expect(clustersOf(1_000_000)).toHaveLength(4);
});

it('keeps the clusters apart on the cord', () => {
  const heights = [3, 2, 1, 0].flatMap((place) =>
    Array.from({ length: 9 }, (_, at) => 8 - at).map((knot) =>
      knotHeight({ place, knots: 9 }, knot, 160),
    ),
  );
  expect(heights).toEqual([...heights].sort((a, b) => a - b));
  expect(new Set(heights).size).toBe(36);
  expect(Math.min(...heights)).toBeGreaterThan(0);
});
