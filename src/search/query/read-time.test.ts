import { expect, it } from 'vitest';
import { readTime } from './parse-query.ts';

const NOW = Date.UTC(2026, 10, 18, 12);

it.each<[string, number | undefined]>([
  ['2026-11-18', Date.UTC(2026, 10, 18)],
  ['2026-11-18T10:30', Date.UTC(2026, 10, 18, 10, 30)],
  ['2026-11-18T10:30:05.5Z', Date.UTC(2026, 10, 18, 10, 30, 5, 500)],
  ['2026-11-18T10:30:00+02:00', Date.UTC(2026, 10, 18, 8, 30)],
  ['7d', NOW - 7 * 86_400_000],
  ['90m', NOW - 90 * 60_000],
  ['2026-02-31', undefined],
  ['2026-13-01', undefined],
  ['yesterday', undefined],
  ['7', undefined],
])('reads %s as a time', (text, time) => {
  expect(readTime(text, NOW)).toBe(time);
});
