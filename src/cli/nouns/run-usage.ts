import { invalid } from '../../base/errors.ts';
import { SOURCES } from '../../import/sources/all-sources.ts';
import { isPrices, sumUsage } from '../../import/sum-usage.ts';
import type { Prices, UsageBy, UsageSum } from '../../import/sum-usage.ts';
import type { CommandIo } from '../kit/command.ts';
import { readInput, readWhole } from '../kit/input.ts';
import { toTable } from '../kit/text.ts';

export interface UsageGiven {
  readonly by?: UsageBy;
  readonly since?: (now: number) => number;
  readonly prices?: string;
}

export async function runUsage(io: CommandIo, given: UsageGiven): Promise<void> {
  const { by = 'day', since } = given;
  const prices = given.prices === undefined ? undefined : await readPrices(io, given.prices);
  const store = await io.openStore();
  const sums = await sumUsage(store, SOURCES, {
    by,
    ...(since !== undefined && {
      since: new Date(since(io.shell.now())).toISOString().slice(0, 10),
    }),
    ...(prices !== undefined && { prices }),
  });
  await io.printRows(sums, (rows) => toUsageTable(by, rows, prices !== undefined));
}

const PRICES_BYTES_MAX = 1024 * 1024;

async function readPrices({ shell }: CommandIo, path: string): Promise<Prices> {
  const text = Buffer.from(await readWhole(readInput(shell, path), PRICES_BYTES_MAX)).toString(
    'utf8',
  );
  const value = parse(text);
  if (isPrices(value)) return value;
  throw invalid('prices', 'must be a JSON object: {"<model>": {"input": 3, "output": 15}}');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A file that is no JSON is no table of prices.
    return undefined;
  }
}

function toUsageTable(by: UsageBy, sums: readonly UsageSum[], hasCost: boolean): string {
  const counts = ['turns', 'input', 'output', 'cache read', 'cache write'];
  const headings = [by, ...counts, ...(hasCost ? ['cost'] : [])];
  const rows = sums.map(({ of, turns, input, output, cacheRead, cacheWrite, cost }) => [
    of,
    ...[turns, input, output, cacheRead, cacheWrite].map(String),
    ...(hasCost ? [cost === undefined ? 'unknown' : cost.toFixed(2)] : []),
  ]);
  return toTable(headings, rows, [...counts, 'cost']);
}
