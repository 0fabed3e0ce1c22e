import { isFields } from '../base/fields.ts';
import type { Store } from '../store/store.ts';
import { Ledger, findLedger } from './keep/ledger.ts';
import type { Source, Usage } from './source/source.ts';

const USAGE_BY = ['day', 'model', 'project', 'agent'] as const;
export type UsageBy = (typeof USAGE_BY)[number];

/** Tokens of one day, model, project or agent. */
export interface UsageSum extends Usage {
  readonly of: string;
  readonly turns: number;
  /** In the currency of the prices; absent if a model has none. */
  readonly cost?: number;
}

/** Prices of a model for a million tokens. */
export type Prices = Readonly<Record<string, Partial<Usage>>>;

/** Sums the tokens that imported records state, from the sums that imports have kept. */
export async function sumUsage(
  store: Store,
  sources: readonly Source[],
  options: { readonly by: UsageBy; readonly since?: string; readonly prices?: Prices },
): Promise<UsageSum[]> {
  const { by, since = '', prices } = options;
  const sums = new Map<string, UsageSum & { priced: boolean }>();
  for (const source of sources) {
    if ((await findLedger(store, source)) === undefined) continue;
    const { usage } = await Ledger.open(store, source, true);
    for (const [
      day,
      model,
      project,
      input,
      output,
      cacheRead,
      cacheWrite,
      turns,
    ] of usage.values()) {
      if (day < since) continue;
      const of = { day, model, project, agent: source.name }[by] || 'unknown';
      const row = { input, output, cacheRead, cacheWrite };
      const before = sums.get(of);
      const cost = prices && costOf(row, prices[model]);
      sums.set(of, {
        of,
        turns: (before?.turns ?? 0) + turns,
        input: (before?.input ?? 0) + input,
        output: (before?.output ?? 0) + output,
        cacheRead: (before?.cacheRead ?? 0) + cacheRead,
        cacheWrite: (before?.cacheWrite ?? 0) + cacheWrite,
        cost: (before?.cost ?? 0) + (cost ?? 0),
        priced: (before?.priced ?? true) && cost !== undefined,
      });
    }
  }
  return [...sums.values()]
    .toSorted((a, b) => (a.of < b.of ? -1 : 1))
    .map(({ priced, cost = 0, ...sum }) => (priced ? { ...sum, cost } : sum));
}

const MILLION = 1e6;

function costOf(usage: Usage, price: Partial<Usage> | undefined): number | undefined {
  if (price === undefined) return undefined;
  const parts = ['input', 'output', 'cacheRead', 'cacheWrite'] as const;
  return parts.reduce((sum, part) => sum + (usage[part] * (price[part] ?? 0)) / MILLION, 0);
}

export function isPrices(value: unknown): value is Prices {
  return (
    isFields(value) &&
    Object.values(value).every(
      (price) =>
        isFields(price) &&
        Object.values(price).every((amount) => typeof amount === 'number' && amount >= 0),
    )
  );
}
