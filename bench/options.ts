import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { ROWS } from './rows/rows.ts';
import { SIZES } from './sizes.ts';
import type { Sizes } from './sizes.ts';

export interface Options {
  readonly sizes: Sizes;
  /** Names of rows; empty for all of them. */
  readonly only: readonly string[];
  /** Where the stores are made: the disk that is measured. */
  readonly dir: string;
  /** Where RESULTS.md and plots/ go; undefined: nowhere. */
  readonly out: string | undefined;
  /** Another checkout, whose build runs beside this one; undefined: none. */
  readonly beside: string | undefined;
}

/** Undefined when help was asked for. Throws a TypeError for what it does not know. */
export function parseOptions(args: readonly string[], home: string): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      full: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      set: { type: 'string', multiple: true, default: [] },
      only: { type: 'string', multiple: true, default: [] },
      dir: { type: 'string', default: tmpdir() },
      out: { type: 'string' },
      beside: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const { only, dir } = values;
  const unknown = only.find((name) => !ROWS.some((row) => row.name === name));
  if (unknown !== undefined) {
    const known = ROWS.map((row) => row.name).join(', ');
    throw new TypeError(`there is no row "${unknown}"; rows are ${known}`);
  }
  const chosen = values.smoke ? SIZES.smoke : values.full ? SIZES.full : SIZES.default;
  const sizes = { ...chosen, ...Object.fromEntries(values.set.map(parseSize)) };
  const isPart =
    values.smoke || only.length > 0 || values.set.length > 0 || values.beside !== undefined;
  // Part of a table, or one from sizes that mean nothing, must not take the place of a whole one.
  const out = values.out ?? (isPart ? undefined : home);
  return { sizes, only, dir, out, beside: values.beside };
}

/** `name=number`, for one of the sizes that are a number. */
function parseSize(text: string): [name: string, size: number] {
  const [name = '', given = ''] = text.split('=');
  const isSize = typeof (SIZES.default as unknown as Record<string, unknown>)[name] === 'number';
  if (isSize && /^[1-9]\d{0,11}$/.test(given)) return [name, Number(given)];
  const known = Object.entries(SIZES.default)
    .filter(([, value]) => typeof value === 'number')
    .map(([size]) => size);
  throw new TypeError(`"${text}" is no size; write <name>=<number>; names are ${known.join(', ')}`);
}

export function helpText(): string {
  const rows = ROWS.map(({ name, about }) => `  ${name.padEnd(14)}${about}`).join('\n');
  return `npm run bench -- [options]

  --only <row>  one row; may be given more than once (prints the table, writes no file)
  --set <name>=<n>  another size, such as searchTurns=100000 (see bench/sizes.ts)
  --full        scaling up to 10 million turns
  --dir <path>  make the stores there, to measure that disk (default: the temporary folder)
  --out <path>  write RESULTS.md and plots there (default: bench/, for a run of all rows)
  --beside <path>  run every trial also in the build of that checkout, and print both figures
                (compile it there first with "npm run bench -- --help")
  --smoke       tiny sizes that only show that everything runs
  --help

Ends with code 1 when something that must be reached was missed.

Rows:
${rows}
`;
}
