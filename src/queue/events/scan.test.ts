import { afterEach, expect, it, vi } from 'vitest';
import { countMatches, findPending, type EventReader, type IdRange } from './scan.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Scans so many events, each of which takes so long to look at. Returns the lengths of the stretches. */
async function scan(
  events: number,
  eventMs: number,
  within?: NonNullable<EventReader<string>['looks']>['within'],
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
    ...(within !== undefined && { looks: { within, isMatch: async () => undefined } }),
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
  const lengths = await scan(50_000, 0.0001, ({ after, through }) =>
    Math.min(through, after + 8000),
  );
  expect(lengths).toEqual([8000, 8000, 4000, 8000, 8000, 4000, 8000, 2000]);
});

/** Counts the rounds of the event loop during the work. */
async function countRounds(work: () => Promise<unknown>): Promise<number> {
  let rounds = 0;
  let isOver = false;
  const count = (): void => {
    rounds += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return rounds;
}

it.each([
  ['many small events', 0.0001, 5],
  ['few events that take long', 0.01, 100],
])('lets the process go on after %s', async (_, eventMs, turns) => {
  const rounds = await countRounds(() => scan(100_000, eventMs, ({ after }) => after + 1000));
  expect(rounds).toBeGreaterThanOrEqual(turns - 1);
  expect(rounds).toBeLessThanOrEqual(turns + 1);
});

it('catches up after turns that ended early', async () => {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const reader: EventReader<string> = {
    newestId: () => 100_000,
    countMatches({ after }) {
      // The first ten stretches are interrupted.
      if (after < 10_000) nowMs += 15;
      return 0;
    },
    matches: () => [],
    firstMatch: () => undefined,
    looks: {
      within: ({ after, through }) => Math.min(through, after + 1000),
      isMatch: async () => undefined,
    },
  };
  const page = { after: 0, limit: 1 };
  const rounds = await countRounds(() => countMatches(reader, 'filter', page));
  expect(rounds).toBeGreaterThanOrEqual(10);
  // Those that come later are in one turn, and not in four or five.
  expect(rounds).toBeLessThanOrEqual(12);
});

it('goes on in step with other scans', async () => {
  const seen: string[] = [];
  const reader: EventReader<string> = {
    newestId: () => 60_000,
    countMatches({ after }, filter) {
      seen.push(`${filter} ${Math.floor(after / 20_000)}`);
      return 0;
    },
    matches: () => [],
    firstMatch: () => undefined,
    looks: {
      within: ({ after, through }, filter) =>
        Math.min(through, after + (filter === 'slow' ? 4000 : 20_000)),
      isMatch: async () => undefined,
    },
  };
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const page = { after: 0, limit: 1 };
  await Promise.all(['slow', 'fast'].map((filter) => countMatches(reader, filter, page)));
  const slow = (turn: number): string[] => Array<string>(5).fill(`slow ${turn}`);
  const inStep = [0, 1, 2].flatMap((turn) => [...slow(turn), `fast ${turn}`]);
  expect(seen.toSorted()).toEqual(inStep.toSorted());
  // Nobody begins a turn before everybody has ended the one before.
  expect(seen.map((entry) => entry.at(-1))).toEqual(inStep.map((entry) => entry.at(-1)));
});

it('asks nothing more of an event that was looked at alone', async () => {
  const asked: string[] = [];
  const reader: EventReader<string> = {
    newestId: () => 3,
    countMatches({ after }, filter) {
      asked.push(`${after + 1} ${filter}`);
      return 1;
    },
    matches: () => [],
    firstMatch: ({ after }, filter) => {
      asked.push(`${after + 1} ${filter}`);
      return undefined;
    },
    // The first does not match, the second does, and the third is missing.
    looks: {
      within: ({ after }) => after,
      isMatch: async (id) => [false, true, undefined][id - 1],
    },
  };
  expect(await countMatches(reader, 'f', { after: 0, limit: 9 })).toBe(2);
  expect(asked).toEqual(['2 undefined', '3 f']);
  const known = { acked: 0, bookmark: undefined };
  expect(await findPending(reader, 'f', known, { reach: 9 })).toMatchObject({ clearTo: 3 });
});
