import type { PickRequest } from '../contract/search-index.ts';
import type { CandidateRow } from './pick-rows.ts';
import type { Sketch } from './sketch.ts';

// Thousands of candidates come from the database as one text. Taking each column of each row out of SQLite costs more
// than finding it: 19 ms for 10,000 rows of ten columns, and 4 ms in this way. Numbers are separated by spaces, rows by
// commas, and the sketch, if there is one, is in hex at the end of its row.

export type FactColumn = 'at' | 'thread' | 'kind' | 'type' | 'model';
export type PackedColumn = 'id' | 'piece' | 'words' | FactColumn;

/** The facts of candidates that a request needs, beside what every rank needs. */
export function factColumns({
  order,
  group,
  facets,
}: Pick<PickRequest, 'order' | 'group' | 'facets'>): readonly FactColumn[] {
  return [
    ...(order === 'newest' || facets ? (['at'] as const) : []),
    ...(group ? (['thread'] as const) : []),
    ...(facets ? (['kind', 'type', 'model'] as const) : []),
  ];
}

const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;

const NO_SKETCH: Sketch = { bytes: new Uint8Array(), from: 0, to: 0 };

const NO_FACTS = { at: 0, thread: 0, kind: 0, type: 0, model: 0 };

/** Lengths of rows that stand elsewhere. */
export interface RowLengths {
  wordsOf(id: number): number;
  /** The document that has the row: the number of its first row. */
  docOf(id: number): number;
}

/** Rows of which only the numbers were asked for. */
export function plainRows(ids: readonly number[], lengths: RowLengths): CandidateRow[] {
  return ids.map((id) => ({
    id,
    doc: lengths.docOf(id),
    words: lengths.wordsOf(id),
    ...NO_FACTS,
    sketch: NO_SKETCH,
  }));
}

/** Rows of a packed text, each with its number first. Columns that were not asked for are 0. */
export function unpackRows(
  packed: string,
  columns: readonly PackedColumn[],
  lengths?: RowLengths,
): CandidateRow[] {
  const rows: CandidateRow[] = [];
  const sketches = new Uint8Array(lengths === undefined ? packed.length >> 1 : 0);
  // An array of doubles would make a number on the heap of each field of a row.
  const values = [...columns.map(() => 0), 0];
  // What was not asked for is read from the last place.
  const placeOf = (column: PackedColumn): number => {
    const place = columns.indexOf(column);
    return place === -1 ? columns.length : place;
  };
  const [piece, words] = [placeOf('piece'), placeOf('words')];
  const [time, thread] = [placeOf('at'), placeOf('thread')];
  const [kind, type, model] = [placeOf('kind'), placeOf('type'), placeOf('model')];
  let used = 0;
  for (let at = 0; at < packed.length;) {
    for (let nth = 0; nth < columns.length; nth += 1) {
      const isNegative = packed.charCodeAt(at) === MINUS;
      let value = 0;
      for (at += isNegative ? 1 : 0; isDigit(packed.charCodeAt(at)); at += 1) {
        value = value * 10 + packed.charCodeAt(at) - 0x30;
      }
      values[nth] = isNegative ? -value : value;
      if (packed.charCodeAt(at) === SPACE) at += 1;
    }
    const from = used;
    for (; at < packed.length && packed.charCodeAt(at) !== COMMA; at += 2) {
      sketches[used] = (nibble(packed.charCodeAt(at)) << 4) | nibble(packed.charCodeAt(at + 1));
      used += 1;
    }
    at += 1;
    const id = values[0] ?? 0;
    rows.push({
      id,
      doc: lengths === undefined ? id - (values[piece] ?? 0) : lengths.docOf(id),
      words: lengths === undefined ? (values[words] ?? 0) : lengths.wordsOf(id),
      at: values[time] ?? 0,
      thread: values[thread] ?? 0,
      kind: values[kind] ?? 0,
      type: values[type] ?? 0,
      model: values[model] ?? 0,
      sketch: used === from ? NO_SKETCH : { bytes: sketches, from, to: used },
    });
  }
  return rows;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Of a digit in hex, small or capital. */
function nibble(code: number): number {
  return code <= 0x39 ? code - 0x30 : (code & 0x0f) + 9;
}
