import { toAge, toTable, toTime } from './text.ts';

// Output for people. A terminal gets colours, unless NO_COLOR is set, and ages. Everything else, such as a
// pipe or a file, gets plain text, and times that sort.

/** Numbers of colours, as terminals know them. */
export const YELLOW = 33;
export const CYAN = 36;
const BOLD = 1;

export interface Screen {
  /** Adds a colour, on a terminal that wants colours. */
  readonly paint: (text: string, colour: number) => string;
  /** Shows how long ago a time was, or the time itself. A number is milliseconds since 1970, a text a date. */
  time(at: number | string): string;
  /** A list of things, each named by its first column. */
  table(
    headings: readonly string[],
    rows: readonly (readonly string[])[],
    right?: readonly string[],
  ): string;
}

/** A column of a list: its heading, what a row shows there, and the side that it is flush with. */
export type Column<Row> = readonly [
  heading: string,
  cell: (row: Row, screen: Screen) => string | number | bigint,
  side?: 'right',
];

export type ShowRows<Row> = (rows: readonly Row[], screen: Screen) => string;

/** Shows rows as a table with these columns. */
export function tableOf<Row>(columns: readonly Column<Row>[]): ShowRows<Row> {
  const headings = columns.map(([heading]) => heading);
  const right = headings.filter((_, at) => columns[at]?.[2] === 'right');
  return (rows, screen) => {
    const cells = rows.map((row) => columns.map(([, cell]) => String(cell(row, screen))));
    return screen.table(headings, cells, right);
  };
}

interface Terminal {
  /** Undefined when standard output is no terminal. */
  readonly columns: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
}

export function toScreen({ columns, env, now }: Terminal): Screen {
  const isTerminal = columns !== undefined;
  const hasColours = isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  const paint = (text: string, colour: number): string =>
    hasColours && text.trim() !== '' ? `\u001b[${colour}m${text}\u001b[0m` : text;
  return {
    paint,
    time(at) {
      const atMs = typeof at === 'number' ? at : Date.parse(at);
      if (isTerminal && !Number.isNaN(atMs)) return toAge(atMs, now());
      return typeof at === 'number' ? toTime(at) : at;
    },
    table: (headings, rows, right) =>
      toTable(headings, rows, right, (cell, { row, column }) => {
        if (row === 0) return paint(cell, BOLD);
        return column === 0 ? paint(cell, YELLOW) : cell;
      }),
  };
}
