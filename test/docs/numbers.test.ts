import { describe, expect, it } from 'vitest';
import { readProject } from '../support/project.ts';

/** Rows of a table as cells, without the rule below its head. */
function rowsOf(markdown: string): string[][] {
  return [...markdown.matchAll(/^\|(.*)\|$/gm)]
    .map(([, row = '']) => row.split('|').map((cell) => cell.trim()))
    .filter(([first = '']) => !/^-*$/.test(first));
}

/** The figures of a document that its table of measurements claims and the rows of the results do not have. */
function wrongNumbers(document: string, results: string): string[] {
  const measured = new Map(rowsOf(results).map(([work = '', ...cells]) => [work, cells.join(' ')]));
  const [, table = ''] = /^\| measured \|.*\n((?:\|.*\n)*)/m.exec(document) ?? [];
  return rowsOf(table).flatMap(([figure = '', what = '', row = '']) => {
    const found = measured.get(row.replaceAll('`', ''));
    if (found === undefined) return [`no row ${row}`];
    const claimed = [figure, ...(what.match(/[\d.]+x/g) ?? [])];
    return claimed
      .filter((each) => !found.includes(each))
      .map((each) => `${each} is not in ${row}`);
  });
}

describe('the numbers of the README', () => {
  it('are three, and each is in the row of the benchmark that it names', () => {
    const document = readProject('README.md');
    expect(
      document.match(/^\| .* \| `.*` \|$/gm)?.filter((row) => /^\| [\d]/.test(row)),
    ).toHaveLength(3);
    expect(wrongNumbers(document, readProject('bench/RESULTS.md'))).toEqual([]);
  });

  it('would be found wrong', () => {
    const results = '| work | Quipu |\n|---|---|\n| append | 10/s, 3x |\n';
    const claim = (row: string): string => `| measured | what | row |\n|---|---|---|\n${row}\n`;
    expect(wrongNumbers(claim('| 10/s | 3x SQLite | `append` |'), results)).toEqual([]);
    expect(wrongNumbers(claim('| 11/s | 4x SQLite | `append` |'), results)).toHaveLength(2);
    expect(wrongNumbers(claim('| 10/s | | `read` |'), results)).toEqual(['no row `read`']);
  });
});
