import type { PickRequest } from '../contract/search-index.ts';
import type { CandidateRow } from './pick-rows.ts';

// Thousands of candidates come from the database as one text. Taking each column of each row out of SQLite costs more
// than finding it: 19 ms for 10,000 rows of ten columns, and 4 ms in this way. Numbers are separated by spaces, rows by
// commas, and the sketch is in hex at the end of its row.

type NumberColumn = Exclude<keyof CandidateRow, 'doc' | 'sketch'> | 'piece';

const ALWAYS = ['id', 'piece', 'words'] as const;
const READ: readonly NumberColumn[] = [...ALWAYS, 'at', 'thread', 'kind', 'type', 'model'];

/** The columns that a request needs, in the order in which they are packed. The sketch follows them. */
export function packedColumns({
  order,
  group,
  facets,
}: Pick<PickRequest, 'order' | 'group' | 'facets'>): readonly NumberColumn[] {
  return [
    ...ALWAYS,
    ...(order === 'newest' || facets ? (['at'] as const) : []),
    ...(group ? (['thread'] as const) : []),
    ...(facets ? (['kind', 'type', 'model'] as const) : []),
  ];
}

const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;

/** Rows of a packed text; columns that were not asked for are 0. */
export function unpackRows(packed: string, columns: readonly NumberColumn[]): CandidateRow[] {
  const rows: CandidateRow[] = [];
  const sketches = new Uint8Array(packed.length >> 1);
  const values = new Float64Array(columns.length);
  const [id, piece, words, time, thread, kind, type, model] = READ.map((column) =>
    columns.indexOf(column),
  );
  const valueOf = (nth: number | undefined): number => values[nth ?? -1] ?? 0;
  let used = 0;
  for (let at = 0; at < packed.length;) {
    for (let nth = 0; nth < columns.length; nth += 1) {
      const isNegative = packed.charCodeAt(at) === MINUS;
      let value = 0;
      for (at += isNegative ? 1 : 0; packed.charCodeAt(at) !== SPACE; at += 1) {
        value = value * 10 + packed.charCodeAt(at) - 0x30;
      }
      values[nth] = isNegative ? -value : value;
      at += 1;
    }
    const from = used;
    for (; at < packed.length && packed.charCodeAt(at) !== COMMA; at += 2) {
      sketches[used] = (nibble(packed.charCodeAt(at)) << 4) | nibble(packed.charCodeAt(at + 1));
      used += 1;
    }
    at += 1;
    const number = valueOf(id);
    rows.push({
      id: number,
      doc: number - valueOf(piece),
      words: valueOf(words),
      at: valueOf(time),
      thread: valueOf(thread),
      kind: valueOf(kind),
      type: valueOf(type),
      model: valueOf(model),
      sketch: { bytes: sketches, from, to: used },
    });
  }
  return rows;
}

/** Of a digit in hex, small or capital. */
function nibble(code: number): number {
  return code <= 0x39 ? code - 0x30 : (code & 0x0f) + 9;
}
