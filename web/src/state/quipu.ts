// A number as knots on a cord, as the Inca wrote it: a cluster of knots for each digit, the ones at the lower end. An
// empty place is a zero. These functions are pure.

export interface Cluster {
  /** From 0, the place of the ones, up. */
  readonly place: number;
  readonly knots: number;
}

/** More is written as 9,999. */
const PLACES = 4;

export function clustersOf(value: number): readonly Cluster[] {
  const digits = String(Math.min(Math.max(0, Math.floor(value)), 10 ** PLACES - 1));
  return digits
    .split('')
    .map((digit, at) => ({ place: digits.length - 1 - at, knots: Number(digit) }))
    .filter(({ knots }) => knots > 0);
}

/** The height of a knot on a cord of this length: the ones hang lowest. */
export function knotHeight({ place }: Cluster, knot: number, length: number): number {
  const zone = length / PLACES;
  return length - place * zone - knot * Math.min(6, zone / 10) - 4;
}
