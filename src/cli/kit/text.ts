/** Columns padded to their widest cell, two spaces apart; columns named in `right` are flush right. */
export function toTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly string[] = [],
): string {
  const lines = [headings, ...rows].map((row) => row.map((cell) => escapeControls(cell)));
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  return lines
    .map((line) => {
      const cells = line.map((cell, column) => {
        const width = widths[column] ?? 0;
        return right.includes(headings[column] ?? '') ? cell.padStart(width) : cell.padEnd(width);
      });
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}

/** One fact a line, names padded to the longest. */
export function toFacts(facts: readonly (readonly [string, string])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts
    .map(([name, value]) => `${name.padEnd(width)}  ${escapeControls(value)}`.trimEnd() + '\n')
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

/** Shows control characters and direction marks as escapes, everything else as it is. */
export function escapeControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    const known = { '\n': '\\n', '\t': '\\t', '\r': '\\r' }[char];
    return known ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
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
