import type { Cron } from './cron.ts';
import { namesDate } from './cron.ts';
import type { Zone } from './zone.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** 29 February can be eight years away, around a century year that is not a leap year. */
const HORIZON_DAYS = 9 * 366;

/**
 * Returns the first moment after `afterMs` that the line names, or undefined when none ever comes (31 February). When
 * clocks are set forward, a time of the day that is skipped comes at the moment of the change. When they are set back,
 * it comes once. A rhythm goes by the minutes that really pass.
 */
export function nextTime(cron: Cron, zone: Zone, afterMs: number): number | undefined {
  const after = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS;
  const today = Math.floor(zone.toWall(after) / DAY_MS) * DAY_MS;
  // Clocks set back over midnight show yesterday again. So the search starts a day before, and includes the day after
  // the first find.
  for (let day = today - DAY_MS; day <= today + HORIZON_DAYS * DAY_MS; day += DAY_MS) {
    const found = firstOfDay(cron, zone, day, after);
    if (found === undefined) continue;
    return Math.min(found, firstOfDay(cron, zone, day + DAY_MS, after) ?? found);
  }
  return undefined;
}

/** The first named moment of a date that lies after `after`. */
function firstOfDay(cron: Cron, zone: Zone, day: number, after: number): number | undefined {
  const date = new Date(day);
  if (!namesDate(cron, date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCDay())) {
    return undefined;
  }
  const [least, greatest] = zone.offsetsAround(day);
  let first: number | undefined;
  for (const hour of cron.hours) {
    for (const minute of cron.minutes) {
      const wall = day + hour * HOUR_MS + minute * MINUTE_MS;
      // Asking the zone is slow. The search does not ask on days without a clock change, nor for times that are too
      // early or too late anyway.
      if (wall - least <= after || wall - greatest >= (first ?? Infinity)) continue;
      const moments = least === greatest ? [wall - least] : momentsOf(cron, zone, wall);
      for (const moment of moments) {
        if (moment > after && moment < (first ?? Infinity)) first = moment;
      }
    }
  }
  return first;
}

function momentsOf(cron: Cron, zone: Zone, wall: number): number[] {
  const moments = zone.toInstants(wall);
  if (!cron.namesTime) return moments;
  return moments.length === 0 ? [zone.gapEnd(wall)] : moments.slice(0, 1);
}
