import { afterEach, expect, it, vi } from 'vitest';
import { countMatches } from './scan.ts';
import type { EventReader, IdRange } from './scan.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Scans so many events, each of which takes so long to look at. Returns the lengths of the stretches. */
async function scan(
  events: number,
  eventMs: number,
  { isAsked = false, steps = Infinity } = {},
): Promise<number[]> {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const stretches: IdRange[] = [];
  const reader: EventReader<string> = {
    newestId: () => (isAsked ? Promise.resolve(events) : events),
    countMatches(range) {
      stretches.push(range);
      nowMs += eventMs * (range.through - range.after);
      return 0;
    },
    matches: () => [],
    firstMatch: () => undefined,
    stepsOf: () => steps,
  };
  await countMatches(reader, 'filter', { after: 0, limit: 1 });
  for (const [at, range] of stretches.entries()) {
    expect(range.after).toBe(stretches[at - 1]?.through ?? 0);
  }
  expect(stretches.at(-1)?.through).toBe(events);
  return stretches.map(({ after, through }) => through - after);
}

it('looks at more and more small events at a time', async () => {
  const lengths = await scan(100_000, 0.0005);
  expect(lengths.slice(0, 4)).toEqual([8, 16, 32, 64]);
  expect(Math.max(...lengths)).toBe(20_000);
});

it('looks at few large events at a time, so that nobody waits long', async () => {
  // An event of 8 MiB takes some milliseconds.
  const lengths = await scan(1000, 5);
  expect(Math.max(...lengths.slice(1))).toBeLessThanOrEqual(4);
  expect(Math.max(...(await scan(100, 50)).slice(1))).toBeLessThanOrEqual(2);
});

it('asks another process for many events at a time, however long it takes', async () => {
  expect(await scan(50_000, 5, { isAsked: true })).toEqual([20_000, 20_000, 10_000]);
});

it('begins with many events when the filter cannot take long', async () => {
  expect((await scan(100_000, 0.0005, { steps: 32 }))[0]).toBe(20_000);
  expect((await scan(100_000, 0.0005, { steps: 12 * 1024 }))[0]).toBe(1302);
  // A guess that was wrong is made good.
  expect((await scan(100_000, 0.1, { steps: 32 })).slice(0, 3)).toEqual([20_000, 5000, 1250]);
});

it('lets the process go on after some short stretches', async () => {
  let rounds = 0;
  let isOver = false;
  const count = (): void => {
    rounds += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const lengths = await scan(100_000, 0.0005);
  isOver = true;
  // The stretches of 4,096 events and more take 2 ms and more. The shorter ones before them share rounds.
  expect(rounds).toBeGreaterThanOrEqual(lengths.filter((length) => length > 4096).length - 1);
  expect(rounds).toBeLessThan(lengths.length);
});
