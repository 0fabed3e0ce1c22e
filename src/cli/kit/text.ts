// Output for people. A terminal gets colours, unless NO_COLOR is set, and ages. Everything else, such as a pipe or a
// file, gets plain text, and times that sort.

/** Row 0 has the headings. */
type Paint = (cell: string, at: { readonly row: number; readonly column: number }) => string;

/**
 * Columns padded to their widest cell, two spaces apart; columns named in `right` are flush right. `paint` adds to a
 * cell what takes no room.
 */
export function toTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
  paint: Paint = (cell) => cell,
): string {
  const lines = [headings, ...rows].map((row) => row.map((cell) => escapeControls(cell)));
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  return lines
    .map((line, row) => {
      const cells = line.map((cell, column) => {
        const room = ' '.repeat((widths[column] ?? 0) - cell.length);
        const shown = paint(cell, { row, column });
        return right.includes(headings[column] ?? '') ? room + shown : shown + room;
      });
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}

/** A name and its value. There is no fact without a value. */
export type Fact = readonly [name: string, value: string | number | bigint | undefined];

/** One fact a line, names padded to the longest. */
export function toFacts(given: readonly Fact[]): string {
  const facts = given.filter(([, value]) => value !== undefined);
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts
    .map(([name, value]) => `${name.padEnd(width)}  ${escapeControls(String(value))}`.trimEnd())
    .map((line) => `${line}\n`)
    .join('');
}

/**
 * Makes text safe to show on one line of a terminal: stored text may hold escape sequences that move the cursor or
 * rewrite earlier output.
 */
export function toPlainLine(text: string, maxChars: number): string {
  // A cut in the middle of a surrogate pair would print as a replacement character.
  const head = Array.from(text.slice(0, 2 * (maxChars + 1))).slice(0, maxChars + 1);
  const cut = head.length > maxChars;
  const shown = (cut ? head.slice(0, maxChars - 1) : head).join('');
  return escapeControls(shown) + (cut ? '…' : '');
}

/** Control characters, line breaks of Unicode, and marks that turn the direction of a line. */
const CONTROLS = /[\p{Cc}\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Shows control characters and direction marks as escapes, everything else as it is. */
export function escapeControls(text: string): string {
  return text.replaceAll(CONTROLS, (char) => {
    const known = { '\n': '\\n', '\t': '\\t', '\r': '\\r' }[char];
    return known ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** The same for text of several lines, in which line breaks and tabs stay. */
export function escapeLines(text: string): string {
  return text.replaceAll(CONTROLS, (char) =>
    char === '\n' || char === '\t' ? char : escapeControls(char),
  );
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Shows bytes to people: three digits and a decimal unit. */
export function toSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** Shows a time in milliseconds as an ISO date that sorts and reads, to the second, in UTC. */
export function toTime(unixMs: number): string {
  const date = new Date(unixMs);
  return Number.isNaN(date.getTime()) ? String(unixMs) : `${date.toISOString().slice(0, 19)}Z`;
}

const AGES: readonly (readonly [seconds: number, unit: string])[] = [
  [365.25 * 86_400, 'year'],
  [30.44 * 86_400, 'month'],
  [7 * 86_400, 'week'],
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
];

/** Shows how long ago a time was, such as "3 hours ago". A time that is yet to come is shown as it is. */
export function toAge(unixMs: number, nowMs: number): string {
  const seconds = (nowMs - unixMs) / 1000;
  if (!(seconds > -60)) return toTime(unixMs);
  const [size, unit] = AGES.find(([least]) => seconds >= least) ?? [1, ''];
  if (unit === '') return 'just now';
  const count = Math.floor(seconds / size);
  return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
}

/** Characters that take two columns of a terminal, and those that take none. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** A column may carry marks above and below, but no heap of them. */
const CHARS_PER_COLUMN = 4;

/** The columns of a terminal that a text takes. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const char of text) columns += NO_WIDTH.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
  return columns;
}

/** Shows text on one line of so many columns of a terminal, with all white space as single spaces. */
export function fitLine(text: string, columns: number): string {
  if (columns < 1) return '';
  const head = text.slice(0, CHARS_PER_COLUMN * (columns + 1));
  const isCut = head.length < text.length;
  let line = '';
  let width = 0;
  /** The longest beginning that leaves room for the sign of a cut. */
  let short = '';
  for (const char of escapeControls(head.trim().replaceAll(/\s+/g, ' '))) {
    width += columnsOf(char);
    if (width > columns) return `${short}…`;
    line += char;
    if (width < columns) short = line;
  }
  return isCut ? `${short}…` : line;
}

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
