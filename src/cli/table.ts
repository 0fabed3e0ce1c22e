import { escapeControls } from './plain-text.ts';

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
