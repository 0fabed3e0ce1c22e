import { InvalidArgumentError } from 'commander';

const DURATION_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const SIZE_BYTES: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** Parses a time such as `10m` or `90d`, in milliseconds. A bare number must be 0, because its unit is unknown. */
export function parseDuration(text: string): number {
  const [, digits = '', unit = ''] = /^([0-9]{1,9}(?:\.[0-9]{1,3})?)([a-z]*)$/.exec(text) ?? [];
  const factor = Object.hasOwn(DURATION_MS, unit) ? DURATION_MS[unit] : undefined;
  if (digits !== '' && factor !== undefined) return Number(digits) * factor;
  if (text === '0') return 0;
  throw new InvalidArgumentError('Expected a time such as 30s, 10m, 12h, 90d or 2w.');
}

/** Parses a size such as `2GB` (decimal) or `512MiB` (binary), in bytes. */
export function parseSize(text: string): number {
  const [, digits = '', given = ''] =
    /^([0-9]{1,15}(?:\.[0-9]{1,3})?) ?([A-Za-z]*)$/.exec(text) ?? [];
  const unit = given.toLowerCase();
  const factor = Object.hasOwn(SIZE_BYTES, unit) ? SIZE_BYTES[unit] : undefined;
  if (digits !== '' && factor !== undefined) return Math.floor(Number(digits) * factor);
  throw new InvalidArgumentError('Expected a size such as 500MB, 2GB or 512MiB.');
}
