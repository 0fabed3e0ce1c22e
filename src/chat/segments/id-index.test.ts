import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IdIndex, decodeRun, encodeRun, hashId, runLength, type IdRun } from './id-index.ts';

describe('IdIndex', () => {
  it('finds the segments of every id, also when it is put together from its last runs', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.string(), { maxLength: 5 }), { maxLength: 20 }),
        (segments) => {
          const index = new IdIndex();
          const stored = segments.map((ids) => index.add(ids));
          const runs: IdRun[] = [];
          for (let left = segments.length; left > 0; left -= runLength(left - 1)) {
            const run = decodeRun(encodeRun(stored[left - 1]!));
            expect(run?.segments).toBe(runLength(left - 1));
            runs.unshift(run!);
          }
          const again = new IdIndex(runs);
          expect(again.segments).toBe(segments.length);
          for (const id of new Set(segments.flat())) {
            const places = segments.flatMap((ids, at) =>
              ids.filter((other) => hashId(other) === hashId(id)).map(() => at),
            );
            expect(index.find(id)).toEqual(places);
            expect(again.find(id)).toEqual(places);
          }
          expect(again.find('nobody has this id')).toEqual([]);
        },
      ),
    );
  });

  it('takes nothing else for a run', () => {
    const bytes = encodeRun(new IdIndex().add(['a', 'b']));
    expect(decodeRun(bytes.subarray(1))).toBeUndefined();
    expect(decodeRun(new Uint8Array(3))).toBeUndefined();
    expect(Buffer.from(bytes).toString('hex')).toMatch(/^0100000002000000[0-9a-f]{32}0{16}$/);
  });
});
