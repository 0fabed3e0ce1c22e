import { invalid } from '../../base/errors.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * A time zone. A *wall time* is the time that its clocks show, written as the milliseconds at which a clock in UTC
 * shows the same. So the code calculates with wall times as if there were no zones.
 */
export interface Zone {
  readonly name: string;
  toWall(unixMs: number): number;
  /**
   * The moments at which the clocks show this time: none in a gap, two where the clocks are set back, else one. In
   * order.
   */
  toInstants(wallMs: number): number[];
  /** For a wall time that is skipped: the moment of the clock change. */
  gapEnd(wallMs: number): number;
  /** The least and the greatest value of wall time minus real time, from the day before to the day after next. */
  offsetsAround(wallMs: number): readonly [number, number];
}

/** Throws INVALID for a name that is not in the time zone database, such as `Europe/Berlin`. */
export function openZone(name: string): Zone {
  const format = createFormat(name);
  const offsetAt = (unixMs: number): number => wallOf(format, unixMs) - unixMs;
  return {
    name,
    toWall: (unixMs) => wallOf(format, unixMs),
    toInstants(wallMs) {
      const offsets = [offsetAt(wallMs - DAY_MS), offsetAt(wallMs + DAY_MS)];
      const instants = offsets.map((offset) => wallMs - offset);
      const right = instants.filter((instant) => wallOf(format, instant) === wallMs);
      return [...new Set(right)].toSorted((a, b) => a - b);
    },
    gapEnd(wallMs) {
      let before = wallMs - DAY_MS;
      let after = wallMs + DAY_MS;
      const old = offsetAt(before);
      while (after - before > MINUTE_MS) {
        const middle = before + Math.floor((after - before) / (2 * MINUTE_MS)) * MINUTE_MS;
        if (offsetAt(middle) === old) before = middle;
        else after = middle;
      }
      return after;
    },
    offsetsAround(wallMs) {
      const offsets = [offsetAt(wallMs - DAY_MS), offsetAt(wallMs + 2 * DAY_MS)] as const;
      return [Math.min(...offsets), Math.max(...offsets)];
    },
  };
}

/** The zone of this machine, or of `TZ`. */
export function localZoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function createFormat(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalid('zone', `takes a name such as Europe/Berlin or UTC, got "${timeZone}"`);
  }
}

/** The wall time, to the minute. */
function wallOf(format: Intl.DateTimeFormat, unixMs: number): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(unixMs)) parts[type] = Number(value);
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute);
}
