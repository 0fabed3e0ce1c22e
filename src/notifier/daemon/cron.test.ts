import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namesDate, nextTime, parseCron, openZone, type Cron, type Zone } from './cron.ts';

const sorted = (values: ReadonlySet<number>): number[] => [...values].toSorted((a, b) => a - b);

describe('parseCron', () => {
  it('reads stars, numbers, ranges, steps, lists and names', () => {
    const cron = parseCron('*/20 1-3,22 5/10 jan,MAR-may fri-7');
    expect(sorted(cron.minutes)).toEqual([0, 20, 40]);
    expect(sorted(cron.hours)).toEqual([1, 2, 3, 22]);
    expect(sorted(cron.days)).toEqual([5, 15, 25]);
    expect(sorted(cron.months)).toEqual([1, 3, 4, 5]);
    expect(sorted(cron.weekdays)).toEqual([0, 5, 6]);
    expect(cron).toMatchObject({ eitherDay: true, namesTime: false });
    expect(parseCron('0-59/30 4 * * *')).toMatchObject({ eitherDay: false, namesTime: true });
  });

  it.each([
    ['', 'five fields'],
    ['* * * *', 'five fields'],
    ['* * * * * *', 'five fields'],
    ['60 * * * *', '"60" as minute'],
    ['* 24 * * *', '"24" as hour'],
    ['* * 0 * *', '"0" as day of the month'],
    ['* * * 13 *', '"13" as month'],
    ['* * * * 8', '"8" as day of the week'],
    ['* * * mon *', '"mon" as month'],
    ['5-1 * * * *', 'backward range "5-1"'],
    ['*/0 * * * *', '"*/0" as minute'],
    ['*/-1 * * * *', '"*/-1" as minute'],
    ['1,,2 * * * *', '"" as minute'],
    ['1.5 * * * *', '"1.5" as minute'],
    ['**/2 * * * *', '"**/2" as minute'],
    ['1-2-3 * * * *', '"1-2-3" as minute'],
    ['* '.repeat(600), 'longer than'],
  ])('refuses %j', (text, problem) => {
    expect(() => parseCron(text)).toThrow(problem);
  });

  it('reads back any list of values', () => {
    const values = fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1 });
    fc.assert(
      fc.property(values, (minutes) => {
        const cron = parseCron(`${minutes.join(',')} * * * *`);
        expect(sorted(cron.minutes)).toEqual(minutes.toSorted((a, b) => a - b));
      }),
    );
  });
});

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The first times after a moment, as the zone's clocks show them, with what UTC shows. */
function times(line: string, zoneName: string, after: string, count = 3): string[] {
  const zone = openZone(zoneName);
  const found: string[] = [];
  let at = Date.parse(after);
  while (found.length < count) {
    const next = nextTime(parseCron(line), zone, at);
    if (next === undefined) break;
    const wall = new Date(zone.toWall(next)).toISOString().slice(0, 16);
    found.push(`${wall} ${new Date(next).toISOString().slice(11, 16)}Z`);
    at = next;
  }
  return found;
}

function names(cron: Cron, wall: number): boolean {
  const date = new Date(wall);
  return (
    cron.minutes.has(date.getUTCMinutes()) &&
    cron.hours.has(date.getUTCHours()) &&
    namesDate(cron, date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCDay())
  );
}

/** Asking a zone is slow, and the runs ask for the same minutes. */
function remember(zone: Zone): Zone {
  const walls = new Map<number, number>();
  return {
    ...zone,
    toWall(unixMs) {
      const wall = walls.get(unixMs) ?? zone.toWall(unixMs);
      walls.set(unixMs, wall);
      return wall;
    },
  };
}

/** Watches a clock, minute after minute, from a day before: what it shows, shows again and leaves out. */
function watchClock(cron: Cron, zone: Zone, after: number, until: number): number | undefined {
  let newest = zone.toWall(after - 24 * HOUR_MS);
  for (let now = after - 24 * HOUR_MS + MINUTE_MS; now <= until; now += MINUTE_MS) {
    const wall = zone.toWall(now);
    const shown = cron.namesTime && wall <= newest ? [] : [wall];
    if (cron.namesTime) {
      for (let skipped = newest + MINUTE_MS; skipped < wall; skipped += MINUTE_MS) {
        shown.push(skipped);
      }
    }
    newest = Math.max(newest, wall);
    if (now > after && shown.some((minute) => names(cron, minute))) return now;
  }
  return undefined;
}

describe('nextTime', () => {
  it('is never the minute itself, and seconds do not matter', () => {
    expect(times('* * * * *', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual([
      '2026-01-01T00:01 00:01Z',
    ]);
    expect(times('* * * * *', 'UTC', '2026-01-01T00:00:59Z', 1)).toEqual([
      '2026-01-01T00:01 00:01Z',
    ]);
  });

  it('knows the ends of months and leap years', () => {
    expect(times('0 0 31 * *', 'UTC', '2026-01-31T00:00:00Z')).toEqual([
      '2026-03-31T00:00 00:00Z',
      '2026-05-31T00:00 00:00Z',
      '2026-07-31T00:00 00:00Z',
    ]);
    expect(times('0 0 29 feb *', 'UTC', '2096-03-01T00:00:00Z', 1)).toEqual([
      '2104-02-29T00:00 00:00Z',
    ]);
    expect(times('59 23 31 12 *', 'UTC', '2026-12-31T23:58:00Z', 2)).toEqual([
      '2026-12-31T23:59 23:59Z',
      '2027-12-31T23:59 23:59Z',
    ]);
  });

  it('takes either day when both are named', () => {
    expect(times('0 9 13 * fri', 'UTC', '2026-02-01T00:00:00Z')).toEqual([
      '2026-02-06T09:00 09:00Z',
      '2026-02-13T09:00 09:00Z',
      '2026-02-20T09:00 09:00Z',
    ]);
  });

  it('never comes on 31 February', () => {
    expect(nextTime(parseCron('0 0 31 2 *'), openZone('UTC'), 0)).toBeUndefined();
  });

  it('comes at the change when clocks are set forward over it', () => {
    expect(times('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z')).toEqual([
      '2026-03-28T02:30 01:30Z',
      '2026-03-29T03:00 01:00Z',
      '2026-03-30T02:30 00:30Z',
    ]);
  });

  it('comes once when clocks are set back, and a rhythm goes on', () => {
    expect(times('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T02:30 00:30Z',
      '2026-10-26T02:30 01:30Z',
    ]);
    expect(times('*/30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 5)).toEqual([
      '2026-10-25T02:00 00:00Z',
      '2026-10-25T02:30 00:30Z',
      '2026-10-25T02:00 01:00Z',
      '2026-10-25T02:30 01:30Z',
      '2026-10-26T02:00 01:00Z',
    ]);
  });

  it('agrees with watching the clock, around changes of it too', () => {
    const range = (min: number, max: number): fc.Arbitrary<string> =>
      fc
        .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
        .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
    const field = (min: number, max: number): fc.Arbitrary<string> =>
      fc.oneof(
        { weight: 2, arbitrary: fc.constant('*') },
        { weight: 2, arbitrary: fc.integer({ min, max }).map(String) },
        { weight: 1, arbitrary: range(min, max) },
        { weight: 1, arbitrary: fc.integer({ min: 2, max: 20 }).map((step) => `*/${step}`) },
      );
    const line = fc
      .tuple(field(0, 59), field(0, 23), field(1, 31), fc.constant('*'), field(0, 7))
      .map((fields) => fields.join(' '));
    // Set forward and back; by half an hour; at midnight; at a minute past midnight; a whole day left out.
    const change = fc.constantFrom(
      ['Europe/Berlin', '2026-03-29T01:00:00Z'],
      ['Europe/Berlin', '2026-10-25T01:00:00Z'],
      ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
      ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
      ['Asia/Beirut', '2026-03-28T22:00:00Z'],
      ['America/St_Johns', '2010-11-07T02:31:00Z'],
      ['America/St_Johns', '2010-03-14T03:31:00Z'],
      ['Pacific/Apia', '2011-12-30T10:00:00Z'],
      ['UTC', '2026-02-28T12:00:00Z'],
    );
    const zones = new Map<string, Zone>();
    fc.assert(
      fc.property(
        line,
        change,
        fc.integer({ min: -1500, max: 100 }),
        (text, [name, at], minutes) => {
          const zone = zones.get(name) ?? remember(openZone(name));
          zones.set(name, zone);
          const cron = parseCron(text);
          const after = Date.parse(at) + minutes * MINUTE_MS;
          const until = after + 30 * HOUR_MS;
          const next = nextTime(cron, zone, after);
          const soon = next !== undefined && next <= until ? next : undefined;
          expect(soon).toBe(watchClock(cron, zone, after, until));
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('openZone', () => {
  it('refuses a zone that does not exist', () => {
    expect(() => openZone('Europe/Atlantis')).toThrow('zone takes a name such as Europe/Berlin');
  });
});
