import { isFields } from '../base/fields.ts';
import type { Store } from '../store/store.ts';
import { Ledger, findLedger } from './keep/ledger.ts';
import type { Source, Usage } from './source/source.ts';

export type UsageBy = 'day' | 'model' | 'project' | 'agent';

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
  const sums = new Map<string, Sum>();
  for (const source of sources) {
    if ((await findLedger(store, source)) === undefined) continue;
    const { usage } = await Ledger.open(store, source, true);
    for (const [day, model, project, ...counts] of usage.values()) {
      if (day < since) continue;
      const of = { day, model, project, agent: source.name }[by] || 'unknown';
      const sum = sums.get(of) ?? { of, ...NOTHING };
      sums.set(of, sum);
      const price = prices?.[model];
      let cost = 0;
      for (const [index, part] of PARTS.entries()) {
        const count = counts[index] ?? 0;
        sum[part] += count;
        cost += (count * (price?.[part] ?? 0)) / MILLION;
      }
      sum.turns += counts[PARTS.length] ?? 0;
      sum.cost += cost;
      sum.priced &&= price !== undefined;
    }
  }
  return [...sums.values()]
    .toSorted((a, b) => (a.of < b.of ? -1 : 1))
    .map(({ priced, cost, ...sum }) => (priced ? { ...sum, cost } : sum));
}

const MILLION = 1e6;
/** In the order of a row of the ledger. */
const PARTS = ['input', 'output', 'cacheRead', 'cacheWrite'] as const;
const NOTHING = {
  turns: 0,
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cost: 0,
  priced: true,
};
type Sum = typeof NOTHING & { readonly of: string };

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
