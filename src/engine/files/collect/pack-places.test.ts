import { describe, expect, it } from 'vitest';
import { hashBytes } from '../../../base/hash.ts';
import { MapShelf } from '../../../testing/map-shelf.ts';
import { Index } from '../index/store-index.ts';
import { GiveWay } from './give-way.ts';
import { PackPlaces, readPackPlaces } from './pack-places.ts';

const way = new GiveWay(async () => undefined);

function place(text: string, pack: number, offset: number): Parameters<Index['addBlob']>[0] {
  const hash = hashBytes(Buffer.from(text));
  return { hash, pack, offset, rawLength: 1, storedLength: 1, codec: 0 };
}

describe('places in packs', () => {
  it('are those of the index, and say when a blob has others', async () => {
    const index = new Index({ shelf: new MapShelf(), positions: () => ({}) });
    for (const at of [300, 100, 200]) index.addBlob(place(`only ${at}`, 1, at));
    index.addBlob(place('twice', 1, 400));
    index.addBlob(place('twice', 2, 100));
    index.addBlob(place('twice', 3, 100));
    const uses = [1, 2].map((pack) => ({ pack, liveBytes: 0, deadBytes: 0, places: 1 }));
    const found = await readPackPlaces(index, uses, way);
    expect([...found.keys()]).toEqual([1, 2]);
    const isOnly = (pack: number, offset: number): boolean | undefined =>
      found.get(pack)?.isOnly(offset);
    expect([100, 200, 300].map((offset) => isOnly(1, offset))).toEqual([true, true, true]);
    expect([isOnly(1, 400), isOnly(2, 100), isOnly(1, 150)]).toEqual([false, false, false]);
  });

  it('remember which are dead, also those that nobody told them of', () => {
    const places = new PackPlaces();
    for (let offset = 100; offset > 0; offset -= 1) places.add(offset);
    for (const offset of [50, 7, 1000]) places.addDead(offset);
    places.removeDead(7);
    expect([50, 7, 1000, 51, 1001].map((offset) => places.isDead(offset))).toEqual([
      true,
      false,
      true,
      false,
      false,
    ]);
    places.removeDead(1000);
    expect(places.isDead(1000)).toBe(false);
  });

  it('are told apart wherever they lie in a pack of hundreds of megabytes', () => {
    const places = new PackPlaces();
    const offsets = [3e8, 5, 2 ** 20, 2 ** 20 - 1, 7e7 + 3];
    for (const offset of offsets) places.add(offset);
    expect(offsets.map((offset) => places.isOnly(offset))).not.toContain(false);
    places.addDead(2 ** 20);
    expect(offsets.map((offset) => places.isDead(offset)).indexOf(true)).toBe(2);
    expect(places.isOnly(2 ** 20 + 5)).toBe(false);
  });
});
