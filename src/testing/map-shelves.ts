import type { ShelfSource } from '../engine/files/index/shelf.ts';
import { MapShelf } from './map-shelf.ts';

/** Returns a new, empty shelf at every opening: the engine then builds its index from the files alone. */
export function mapShelves(): ShelfSource {
  return {
    open: () => new MapShelf(),
    create: () => new MapShelf(),
    install: (fresh) => fresh,
  };
}
