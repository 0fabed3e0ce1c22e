import { corrupt } from '../disk/io-error.ts';

/** Kinds of lookups that a damaged file makes unreliable. */
export type Area = 'blobs' | 'aliases' | 'turns' | 'heads' | 'patches' | 'docs' | 'logs';

export interface DamagePlace {
  readonly area: Area;
  readonly file: string;
  readonly offset: number;
  readonly what: string;
}

/** Enough to act on; a store with more is restored from a backup as a whole. */
const PLACES_MAX = 1000;

/**
 * What was found damaged while the index was built from the files. Where something is missing from
 * the index for that reason, "not found" would be a lie, so those lookups say CORRUPT instead.
 */
export class DamageReport {
  readonly #places: DamagePlace[] = [];

  add(place: DamagePlace): void {
    if (this.#places.length < PLACES_MAX) this.#places.push(place);
  }

  get places(): readonly DamagePlace[] {
    return this.#places;
  }

  /** Call before answering that something in `area` is not there. */
  assertWhole(area: Area): void {
    const place = this.#places.find((found) => found.area === area);
    if (place !== undefined) throw corrupt(place.file, place.offset, place.what);
  }
}
