import { describe, expect, it } from 'vitest';
import type { Sketch } from './sketch.ts';
import { factColumns, unpackRows } from './packed-rows.ts';

describe('packed rows', () => {
  it('have the facts that a request needs', () => {
    const wish = { order: 'best', group: false, facets: false } as const;
    expect(factColumns(wish)).toEqual([]);
    expect(factColumns({ ...wish, order: 'newest', group: true })).toEqual(['at', 'thread']);
    expect(factColumns({ ...wish, facets: true })).toEqual(['at', 'kind', 'type', 'model']);
  });

  it('are taken apart again', () => {
    const rows = unpackRows('12 2 100 -5 0FA0b1,9 0 7 1700000000000 ', [
      'id',
      'piece',
      'words',
      'at',
    ]);
    const bytes = rows[0]?.sketch.bytes ?? new Uint8Array();
    expect(bytes.slice(0, 3)).toEqual(Uint8Array.of(0x0f, 0xa0, 0xb1));
    const sketch = (from: number, to: number): Sketch => ({ bytes, from, to });
    const none = { thread: 0, kind: 0, type: 0, model: 0 };
    expect(rows).toEqual([
      { ...none, id: 12, doc: 10, words: 100, at: -5, sketch: sketch(0, 3) },
      {
        ...none,
        id: 9,
        doc: 9,
        words: 7,
        at: 1_700_000_000_000,
        sketch: { bytes: new Uint8Array(), from: 0, to: 0 },
      },
    ]);
    expect(unpackRows('', ['id'])).toEqual([]);
  });

  it('take their lengths from elsewhere', () => {
    const lengths = { wordsOf: (id: number) => id * 2, docOf: (id: number) => id - 1 };
    expect(unpackRows('12 -3,9 4', ['id', 'at'], lengths)).toMatchObject([
      { id: 12, doc: 11, words: 24, at: -3 },
      { id: 9, doc: 8, words: 18, at: 4 },
    ]);
    expect(unpackRows('7,5', ['id'], lengths)).toMatchObject([{ id: 7 }, { id: 5, words: 10 }]);
  });
});
