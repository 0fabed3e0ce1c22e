const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};

/** A date or a time of ISO 8601, in UTC unless it says otherwise, or an age such as `7d`. Undefined for anything else. */
export function readTime(text: string, nowMs: number): number | undefined {
  const [, count, unit = ''] = /^(\d{1,5})([mhdwy])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (count !== undefined && unitMs !== undefined) return nowMs - Number(count) * unitMs;
  const [, date, time = '00:00', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?))?(Z|[+-]\d\d:\d\d)?$/.exec(text) ??
    [];
  if (date === undefined) return undefined;
  const at = Date.parse(`${date}T${time}${zone}`);
  if (Number.isNaN(at)) return undefined;
  // `Date.parse` moves the 31st of February into March.
  const isReal = new Date(`${date}T00:00Z`).toISOString().startsWith(date);
  return isReal ? at : undefined;
}
