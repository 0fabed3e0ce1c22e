import { corrupt } from '../disk/io-error.ts';

/** Kinds of lookups that a damaged file makes unreliable. */
export type Area = 'blobs' | 'aliases' | 'turns' | 'heads' | 'patches' | 'docs' | 'logs';

export interface DamagePlace {
  readonly area: Area;
  readonly file: string;
  readonly offset: number;
  readonly what: string;
}

/** Enough places to act on. A store with more damage is restored from a backup as a whole. */
const PLACES_MAX = 1000;

/**
 * The damage found while the index was built from the files. The index may lack entries because of it. There "not
 * found" would be a lie, so such lookups answer CORRUPT.
 */
export class DamageReport {
  readonly #places: DamagePlace[] = [];

  add(place: DamagePlace): void {
    if (this.#places.length < PLACES_MAX) this.#places.push(place);
  }

  get places(): readonly DamagePlace[] {
    return this.#places;
  }

  /** Call this before answering that something in `area` does not exist. */
  assertWhole(area: Area): void {
    const place = this.#places.find((found) => found.area === area);
    if (place !== undefined) throw corrupt(place.file, place.offset, place.what);
  }
}
