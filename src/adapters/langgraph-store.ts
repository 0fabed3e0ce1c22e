import {
  BaseStore,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from '@langchain/langgraph-checkpoint';
import { isDeepStrictEqual } from 'node:util';
import type { Context } from '../context/context.ts';
import type { Store } from '../store/store.ts';
import { contextsUnder, joinName, splitName } from '../agents/contexts.ts';

const KIND = 'langgraph-store';
const SEARCH_LIMIT = 10;

/** The details of a context that holds an item. An update of details does not count as use, so the time is here. */
interface Kept {
  readonly value: Item['value'];
  readonly updatedAt: number;
}

/** Keeps the long-term memory of LangGraph: an item is the details of a context, so one listing reads many items. */
export class QuipuStore extends BaseStore {
  readonly #store: Store;
  readonly #prefix: string;

  /** `prefix` begins the names of the contexts, by default 'langgraph-store'. */
  constructor(store: Store, options: { prefix?: string } = {}) {
    super();
    this.#store = store;
    this.#prefix = options.prefix ?? KIND;
  }

  /** The reads see what was there before the writes. Of two writes to a key the last one counts. */
  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = [];
    const puts = new Map<string, PutOperation>();
    for (const operation of operations) {
      if ('namespacePrefix' in operation) results.push(await this.#search(operation));
      else if (!('namespace' in operation)) results.push(await this.#namespaces(operation));
      else if ('value' in operation) {
        puts.set(this.#nameOf(operation), operation);
        results.push(null);
      } else {
        const context = await this.#store.contexts.byName(this.#nameOf(operation));
        results.push(context === undefined ? null : toItem(context));
      }
    }
    for (const [name, { value }] of puts) await this.#put(name, value);
    return results as OperationResults<Op>;
  }

  async #put(name: string, value: Item['value'] | null): Promise<void> {
    if (value === null) {
      const context = await this.#store.contexts.byName(name);
      if (context !== undefined) await this.#store.contexts.remove(context.id);
      return;
    }
    const meta: Kept = { value, updatedAt: Date.now() };
    const there = await this.#store.contexts.getOrCreate(name, { kind: KIND, meta });
    if (!isDeepStrictEqual(there.meta, meta)) await this.#store.contexts.update(there.id, { meta });
  }

  async #search(operation: SearchOperation): Promise<SearchItem[]> {
    const { namespacePrefix, filter = {}, offset = 0, limit = SEARCH_LIMIT } = operation;
    const found = await contextsUnder(this.#store, this.#prefix, ...namespacePrefix);
    const conditions = Object.entries(filter);
    return found
      .map(toItem)
      .filter(({ value }) => conditions.every(([key, wanted]) => fits(value[key], wanted)))
      .slice(offset, offset + limit);
  }

  async #namespaces(operation: ListNamespacesOperation): Promise<string[][]> {
    const { matchConditions = [], maxDepth, offset, limit } = operation;
    const found = await contextsUnder(this.#store, this.#prefix);
    const names = found
      .map((context) => toItem(context).namespace)
      .filter((path) => matchConditions.every((condition) => matches(path, condition)))
      .map((path) => joinName(...path.slice(0, maxDepth)));
    return [...new Set(names)]
      .toSorted()
      .slice(offset, offset + limit)
      .map(splitName);
  }

  #nameOf({ namespace, key }: { namespace: string[]; key: string }): string {
    return joinName(this.#prefix, ...namespace, key);
  }
}

function toItem({ name = '', meta, createdAt }: Context): Item {
  const { value, updatedAt } = meta as Kept;
  const [, ...path] = splitName(name);
  const times = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
  return { namespace: path.slice(0, -1), key: path.at(-1) ?? '', value, ...times };
}

function matches(path: readonly string[], { matchType, path: wanted }: MatchCondition): boolean {
  const part = matchType === 'prefix' ? path.slice(0, wanted.length) : path.slice(-wanted.length);
  return (
    part.length === wanted.length && wanted.every((each, at) => each === '*' || each === part[at])
  );
}

const COMPARISONS: Readonly<Record<string, (left: unknown, right: unknown) => boolean>> = {
  $eq: (left, right) => left === right,
  $ne: (left, right) => left !== right,
  $gt: (left, right) => Number(left) > Number(right),
  $gte: (left, right) => Number(left) >= Number(right),
  $lt: (left, right) => Number(left) < Number(right),
  $lte: (left, right) => Number(left) <= Number(right),
  $in: (left, right) => Array.isArray(right) && right.includes(left),
  $nin: (left, right) => !Array.isArray(right) || !right.includes(left),
};

/** Filters compare as those of the stores of LangGraph do: a value, or an object of operators. */
function fits(value: unknown, wanted: unknown): boolean {
  const operators = Object.entries(wanted ?? {}).filter(([name]) => name.startsWith('$'));
  if (typeof wanted !== 'object' || operators.length === 0) return value === wanted;
  return operators.every(([name, right]) => COMPARISONS[name]?.(value, right) ?? false);
}
