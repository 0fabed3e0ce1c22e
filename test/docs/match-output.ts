/**
 * Does `actual` read as `expected`? `…` stands for any text within a line, and alone on a line for
 * any number of lines. Spaces at line ends and blank lines at both ends do not count.
 */
export function matchOutput(actual: string, expected: string): boolean {
  const pattern = tidy(expected)
    .split('\n')
    .map((line) => (line.trim() === '…' ? '(?:.*\n)*?' : `${lineExpression(line)}\n`))
    .join('');
  return new RegExp(`^${pattern}$`).test(`${tidy(actual)}\n`);
}

function lineExpression(line: string): string {
  return line
    .split('…')
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
    .join('.*');
}

function tidy(text: string): string {
  return text.replaceAll(/[ \t]+$/gm, '').replaceAll(/^\n+|\n+$/g, '');
}
