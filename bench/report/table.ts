import type { DriverName } from '../drivers/driver.ts';
import type { Finding } from '../rows/finding.ts';

const COLUMNS: readonly (readonly [driver: DriverName, title: string])[] = [
  ['quipu', 'Quipu'],
  ['tcp', 'over TCP'],
  ['tcp-each', 'over TCP, a connection each'],
  ['http', 'over HTTP'],
  ['raw-file', 'raw file'],
  ['sqlite', 'better-sqlite3'],
  ['json-lines', 'JSON Lines'],
  ['postgres', 'SQL by hand'],
];

/** The findings as a Markdown table, which also reads well on a terminal. Who answered nothing has no column. */
export function toTable(findings: readonly Finding[]): string {
  const columns = COLUMNS.filter(([driver]) => findings.some(({ answers }) => driver in answers));
  const head = ['work', ...columns.map(([, title]) => title), 'measured', 'must reach', ''];
  const body = findings.map((finding) => [
    finding.work,
    ...columns.map(([driver]) => finding.answers[driver] ?? ''),
    finding.measured,
    finding.must,
    verdict(finding),
  ]);
  const widths = head.map((title, i) =>
    Math.max(3, title.length, ...body.map((cells) => cells[i]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
}

function verdict({ met }: Finding): string {
  if (met === undefined) return '';
  return met ? 'yes' : 'NO';
}
