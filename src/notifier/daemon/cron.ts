import { invalid, isQuipuError } from '../../base/errors.ts';

/** A parsed cron line: the minutes of the wall clock that it names. */
export interface Cron {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  /** Days of the month, from 1. */
  readonly days: ReadonlySet<number>;
  /** Months, from 1. */
  readonly months: ReadonlySet<number>;
  /** Days of the week. Sunday is 0. */
  readonly weekdays: ReadonlySet<number>;
  /** Both day fields are restricted. A date then needs to match only one of them. */
  readonly eitherDay: boolean;
  /**
   * Minute and hour are both named, as in `30 2 * * *`: the line means a time of the day, once. A line that starts one
   * of them with `*` means a rhythm, and goes by the minutes that really pass when the clock is changed.
   */
  readonly namesTime: boolean;
}

/** Returns whether the line names this date. `month` from 1, `weekday` from Sunday as 0. */
export function namesDate(cron: Cron, month: number, day: number, weekday: number): boolean {
  if (!cron.months.has(month)) return false;
  const ofMonth = cron.days.has(day);
  const ofWeek = cron.weekdays.has(weekday);
  return cron.eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MAX_CHARS = 1000;

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names for the values from `min` on. */
  readonly words: readonly string[];
}

const MINUTE: Field = { name: 'minute', min: 0, max: 59, words: [] };
const HOUR: Field = { name: 'hour', min: 0, max: 23, words: [] };
const DAY: Field = { name: 'day of the month', min: 1, max: 31, words: [] };
const MONTH: Field = { name: 'month', min: 1, max: 12, words: MONTHS };
/** Sunday is 0 and 7. */
const WEEKDAY: Field = { name: 'day of the week', min: 0, max: 7, words: WEEKDAYS };

/**
 * Parses five fields: minute, hour, day of the month, month, day of the week. Throws INVALID, which names the wrong
 * field.
 */
export function parseCron(text: string): Cron {
  if (text.length > MAX_CHARS) throw invalid('cron', `is longer than ${MAX_CHARS} characters`);
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5 || fields[0] === '') {
    throw invalid(
      'cron',
      `takes five fields (minute hour day month weekday), such as "30 2 * * mon-fri"; got ${JSON.stringify(text)}`,
    );
  }
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  return {
    minutes: parseField(MINUTE, minute),
    hours: parseField(HOUR, hour),
    days: parseField(DAY, day),
    months: parseField(MONTH, month),
    weekdays: new Set([...parseField(WEEKDAY, weekday)].map((value) => value % 7)),
    eitherDay: !day.startsWith('*') && !weekday.startsWith('*'),
    namesTime: !minute.startsWith('*') && !hour.startsWith('*'),
  };
}

function parseField(field: Field, text: string): Set<number> {
  return new Set(text.split(',').flatMap((item) => parseItem(field, item)));
}

/** Parses `*`, `5`, `1-5`, and each of them with a step. `5/10` goes on to the end of the field. */
function parseItem(field: Field, item: string): number[] {
  const [, range = '', step] = /^([^/]*)(?:\/([0-9]{1,4}))?$/.exec(item) ?? [];
  const [, first = '', last] = /^([a-z0-9]+)(?:-([a-z0-9]+))?$/i.exec(range) ?? [];
  const every = step === undefined ? 1 : Number(step);
  if (every === 0 || (first === '' && range !== '*')) throw wrong(field, item);

  const from = range === '*' ? field.min : parseValue(field, first, item);
  const open = range === '*' || (last === undefined && step !== undefined);
  const to = open ? field.max : last === undefined ? from : parseValue(field, last, item);
  if (to < from) throw invalid('cron', `has the backward range "${item}" as ${field.name}`);
  return Array.from({ length: Math.floor((to - from) / every) + 1 }, (_, n) => from + n * every);
}

function parseValue(field: Field, text: string, item: string): number {
  const word = field.words.indexOf(text.toLowerCase());
  const value = word === -1 ? Number(text) : field.min + word;
  if ((word === -1 && !/^[0-9]{1,2}$/.test(text)) || value < field.min || value > field.max) {
    throw wrong(field, item);
  }
  return value;
}

function wrong({ name, min, max, words }: Field, item: string): Error {
  const named = words.length === 0 ? '' : ` or ${words[0]} to ${words.at(-1)}`;
  const expected = `${min} to ${max}${named}, a range "a-b", a step "*/n", or a list of them`;
  return invalid('cron', `has "${item}" as ${name}; expected ${expected}`);
}

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

/** Returns undefined for a cron line that names no time, or cannot be read: it was checked when it was added. */
export function timeAfter(
  timer: { readonly cron: string; readonly zone: string },
  afterMs: number,
): number | undefined {
  try {
    return nextTime(parseCron(timer.cron), openZone(timer.zone), afterMs);
  } catch (error) {
    if (isQuipuError(error, 'INVALID')) return undefined;
    throw error;
  }
}

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
