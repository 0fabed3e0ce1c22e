import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../testing/disk/seeded-random.ts';
import { countIn, hash12, makeSketch } from '../rank/sketch.ts';
import { CountLists, countsAt, withoutGone } from './count-lists.ts';

const words = Array.from({ length: 200 }, (_, n) => `word${n}`);

/** Sketches of random documents. */
function makeSketches(documents: number): Uint8Array[] {
  const random = new SeededRandom(3);
  return Array.from({ length: documents }, () =>
    makeSketch(Array.from({ length: 60 }, () => words[random.below(1 + random.below(200))] ?? '')),
  );
}

function listsOf(sketches: readonly Uint8Array[]): Map<number, Uint8Array> {
  const lists = new CountLists(1 << 20);
  for (const [place, sketch] of sketches.entries()) lists.add(place, sketch);
  return new Map(lists.lists());
}

function countsIn(list: Uint8Array | undefined, places: Uint32Array): Uint8Array {
  return countsAt(list ?? new Uint8Array(), places);
}

describe('lists of counts', () => {
  it('have the bytes that docs/format/search.md describes', () => {
    const lists = listsOf([
      Uint8Array.of(0x31, 0x12, 0x40, 0x12),
      new Uint8Array(),
      Uint8Array.of(0x3f, 0x12),
      ...Array.from({ length: 100 }, () => new Uint8Array()),
      Uint8Array.of(0x30, 0x12),
    ]);
    expect([...lists].map(([hash, list]) => [hash, Buffer.from(list).toString('hex')])).toEqual([
      [0x123, '012fd00c'],
      [0x124, '00'],
    ]);
  });

  it('say what the sketches say', () => {
    const sketches = makeSketches(9000);
    const lists = listsOf(sketches);
    for (const word of words) {
      const hash = hash12(word);
      const counted = (bytes: Uint8Array): number =>
        countIn({ bytes, from: 0, to: bytes.length }, hash);
      const wanted = sketches.map(counted);
      expect([...countsIn(lists.get(hash), Uint32Array.from(sketches.keys()))]).toEqual(wanted);
      const some = Uint32Array.from([...sketches.keys()].filter((place) => place % 7 === 3));
      expect([...countsIn(lists.get(hash), some)]).toEqual([...some].map((place) => wanted[place]));
    }
  });

  it('lose documents that are gone', () => {
    const sketches = makeSketches(500);
    const isGone = (place: number): boolean => place % 3 === 1;
    const left = listsOf(
      sketches.map((sketch, place) => (isGone(place) ? new Uint8Array() : sketch)),
    );
    for (const [hash, list] of listsOf(sketches)) {
      const kept = withoutGone(list, isGone) ?? list;
      expect(kept).toEqual(left.get(hash) ?? new Uint8Array());
    }
    expect(withoutGone(Uint8Array.of(0x01, 0x2f), () => false)).toBeUndefined();
  });
});
