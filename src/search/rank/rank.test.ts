import { describe, expect, it } from 'vitest';
import { pickRows, type CandidateRow } from './pick-rows.ts';
import { leafHashes, leastCount } from './rank.ts';
import { countIn, hash12, makeSketch, type Sketch } from './sketch.ts';

const hashes = leafHashes({ kind: 'term', token: 'word', prefix: false });
const countOf = (one: CandidateRow): number => leastCount(one.sketch, hashes);
const basis = { shares: [0.1], documents: 100, countOf };

function sketchOf(...tokens: string[]): Sketch {
  const bytes = makeSketch(tokens);
  return { bytes, from: 0, to: bytes.length };
}

function row(id: number, more: Partial<CandidateRow> = {}): CandidateRow {
  const sketch = sketchOf();
  return {
    id,
    doc: id,
    thread: 1,
    at: id,
    kind: 1,
    type: 2,
    model: 0,
    words: 10,
    sketch,
    ...more,
  };
}

describe('a sketch', () => {
  it('says how often words occur', () => {
    const sketch = sketchOf('a', 'b', 'a', 'c', 'a', 'c');
    expect(sketch.bytes).toHaveLength(4);
    expect(countIn(sketch, hash12('a'))).toBe(3);
    expect(countIn(sketch, hash12('c'))).toBe(2);
    expect(countIn(sketch, hash12('b'))).toBe(1);
  });

  it('keeps the words that occur most often', () => {
    const words = Array.from({ length: 60 }, (_, n) => Array<string>(n + 2).fill(`w${n}`)).flat();
    const sketch = sketchOf(...words);
    expect(sketch.bytes).toHaveLength(48);
    expect(countIn(sketch, hash12('w59'))).toBe(17);
    expect(countIn(sketch, hash12('w0'))).toBe(1);
  });
});

describe('pickRows', () => {
  const ids = (rows: readonly CandidateRow[], wish = {}): number[] =>
    pickRows(rows, { order: 'best', limit: 10, group: false, ...wish }, basis).picked.map(
      (one) => one.row.id,
    );

  it('puts more occurrences and shorter texts first, and newer ones where they are equal', () => {
    const often = row(1, { sketch: sketchOf('word', 'word', 'word') });
    expect(ids([row(4), row(3), row(2, { words: 100 }), often])).toEqual([1, 4, 3, 2]);
  });

  it('counts a document with several rows once, with the best of them', () => {
    const rows = [row(3, { doc: 2 }), row(2, { doc: 2, words: 1 }), row(1)];
    expect(ids(rows)).toEqual([2, 1]);
    expect(pickRows(rows, { order: 'best', limit: 1, group: false }, basis)).toMatchObject({
      matches: 2,
      more: true,
    });
  });

  it('goes on behind a place', () => {
    const rows = Array.from({ length: 9 }, (_, n) => row(n + 1, { words: (n % 3) + 1 }));
    const seen: number[] = [];
    let after: { upTo: number; key: number; id: number } | undefined;
    for (;;) {
      const wish = { order: 'best', limit: 2, group: false, ...(after && { after }) } as const;
      const page = pickRows(rows, wish, basis);
      seen.push(...page.picked.map((one) => one.row.id));
      const last = page.picked.at(-1);
      if (!page.more || last === undefined) break;
      after = { upTo: 9, key: last.key, id: last.row.id };
    }
    expect(seen).toEqual(ids(rows));
    expect(seen).toHaveLength(9);
  });
});
