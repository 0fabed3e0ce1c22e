// Text for people: times, sizes, counts, and text that came from elsewhere.

const STEPS: readonly [limitMs: number, unitMs: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [3_600_000, 60_000, 'minute'],
  [86_400_000, 3_600_000, 'hour'],
  [7 * 86_400_000, 86_400_000, 'day'],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const dayTime = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric' });
const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hour12: false });
const exact = new Intl.DateTimeFormat('en', {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hour12: false,
});
const numbers = new Intl.NumberFormat('en');

/** Relative for the last week, then the date. */
export function ago(atMs: number, nowMs: number = Date.now()): string {
  const passed = nowMs - atMs;
  if (passed < 60_000 && passed > -60_000) return 'now';
  for (const [limit, unitMs, unit] of STEPS) {
    if (Math.abs(passed) < limit) return relative.format(-Math.round(passed / unitMs), unit);
  }
  return dayTime.format(atMs);
}

/** The time of day for today, else the date. */
export function clockTime(atMs: number, nowMs: number = Date.now()): string {
  const sameDay = new Date(atMs).toDateString() === new Date(nowMs).toDateString();
  return sameDay ? clock.format(atMs) : ago(atMs, nowMs);
}

export function exactTime(atMs: number): string {
  return exact.format(atMs);
}

export function count(value: number | string): string {
  return numbers.format(typeof value === 'string' ? BigInt(value) : value);
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = size;
  let unit = 'B';
  for (const next of units) {
    if (value < 1000) break;
    value /= 1000;
    unit = next;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** Such as 12 ms, 8.4 s, 3 min. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}

export function shortHash(hash: string): string {
  return `${hash.slice(0, 8)}…${hash.slice(-4)}`;
}

const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text of agents, with the characters that turn the direction of reading made visible. */
export function visible(text: string): string {
  return text.replaceAll(BIDI, (mark) => `[U+${(mark.codePointAt(0) ?? 0).toString(16)}]`);
}

/** The first line, at most `length` characters of it. */
export function firstLine(text: string, length = 160): string {
  const line =
    text
      .slice(0, length * 4)
      .trimStart()
      .split('\n', 1)[0] ?? '';
  return visible(line.length > length ? `${line.slice(0, length)}…` : line);
}
