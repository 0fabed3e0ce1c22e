import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bench } from './bench.ts';
import { Beside } from './beside.ts';
import { helpText, parseOptions } from './options.ts';
import type { Options } from './options.ts';
import { linePlot } from './report/line-plot.ts';
import { describeMachine } from './report/machine.ts';
import { toResults } from './report/results.ts';
import { toTable } from './report/table.ts';
import type { Finding, Plot } from './rows/finding.ts';
import { ROWS } from './rows/rows.ts';

/** Runs the rows asked for; the exit code. `home` is the folder of the benchmarks. */
export async function main(args: readonly string[], home: string): Promise<number> {
  const options = parseOptions(args, home);
  if (options === undefined) {
    console.log(helpText());
    return 0;
  }
  const findings: Finding[] = [];
  const plots: Plot[] = [];
  const beside = options.beside === undefined ? undefined : new Beside(options.beside);
  using bench = new Bench(options, (text) => console.error(text), beside);
  for (const row of ROWS.filter(
    ({ name }) => options.only.length === 0 || options.only.includes(name),
  )) {
    const result = await row.run(bench);
    findings.push(...result.findings);
    plots.push(...(result.plots ?? []));
  }
  if (beside !== undefined) {
    console.log(beside.report());
    return 0;
  }
  const table = toTable(findings);
  console.log(table);
  if (options.out !== undefined) writeReport(options.out, { table, plots, options });
  const judged = options.sizes.name !== 'smoke';
  return judged && findings.some(({ met }) => met === false) ? 1 : 0;
}

function writeReport(
  out: string,
  { table, plots, options }: { table: string; plots: readonly Plot[]; options: Options },
): void {
  mkdirSync(join(out, 'plots'), { recursive: true });
  const machine = describeMachine(options.dir);
  writeFileSync(
    join(out, 'RESULTS.md'),
    toResults(table, plots, { machine, sizes: options.sizes }),
  );
  for (const plot of plots) writeFileSync(join(out, 'plots', plot.file), linePlot(plot));
}
