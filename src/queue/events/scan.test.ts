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
  within?: EventReader<string>['within'],
): Promise<number[]> {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const stretches: IdRange[] = [];
  const reader: EventReader<string> = {
    newestId: () => events,
    countMatches(range) {
      stretches.push(range);
      nowMs += eventMs * (range.through - range.after);
      return 0;
    },
    matches: () => [],
    firstMatch: () => undefined,
    ...(within !== undefined && { within }),
  };
  await countMatches(reader, 'filter', { after: 0, limit: 1 });
  for (const [at, range] of stretches.entries()) {
    expect(range.after).toBe(stretches[at - 1]?.through ?? 0);
  }
  expect(stretches.at(-1)?.through).toBe(events);
  return stretches.map(({ after, through }) => through - after);
}

it('looks at many events at a time', async () => {
  expect(await scan(50_000, 0.0005)).toEqual([20_000, 20_000, 10_000]);
});

it('looks at fewer events at a time where a filter may take long', async () => {
  const lengths = await scan(50_000, 0.0005, ({ after, through }) =>
    Math.min(through, after + 8000),
  );
  expect(lengths).toEqual([8000, 8000, 8000, 8000, 8000, 8000, 2000]);
});

it('lets the process go on after some short stretches', async () => {
  let rounds = 0;
  let isOver = false;
  const count = (): void => {
    rounds += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  // Four stretches take 2 ms.
  const lengths = await scan(100_000, 0.0005, ({ after }) => after + 1000);
  isOver = true;
  expect(lengths).toHaveLength(100);
  expect(rounds).toBeGreaterThanOrEqual(24);
  expect(rounds).toBeLessThan(lengths.length);
});
