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
