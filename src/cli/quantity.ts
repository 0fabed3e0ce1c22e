const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Shows bytes to people: three digits and a decimal unit. */
export function toSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** Shows a time in milliseconds as an ISO date that sorts and reads, to the second, in UTC. */
export function toTime(unixMs: number): string {
  const date = new Date(unixMs);
  return Number.isNaN(date.getTime()) ? String(unixMs) : `${date.toISOString().slice(0, 19)}Z`;
}
