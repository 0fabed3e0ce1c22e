import { NO_TURN, type ContextId, type TurnId } from '../base/brand.ts';
import { BitSet } from '../base/bit-set.ts';
import { orNothing } from '../base/errors.ts';
import { given } from '../base/given.ts';
import type { Engine } from '../engine/engine.ts';
import type { ContextRow } from '../engine/rows.ts';
import { eachPage } from '../base/pages.ts';

const PAGE_CONTEXTS = 1000;
const PAGE_TURNS = 1000;

export interface RemovedContext {
  readonly id: ContextId;
  readonly title?: string;
  /** Time of the last append, seal or creation. */
  readonly updatedAt: number;
  /** Payload bytes that only this context led to, as far as the policy looked; 0 without `maxBytes`. */
  readonly bytes: number;
}

export interface RetainReport {
  readonly removed: readonly RemovedContext[];
  /** The number of contexts that stay, of those that the policy looks at. */
  readonly kept: number;
  /** The number of contexts that stay because they are pinned. */
  readonly pinned: number;
  readonly dryRun: boolean;
}

/** Removes the contexts that a policy does not keep. The next collection removes their bytes. */
export async function retainContexts(
  engine: Engine,
  policy: RetentionPolicy,
  options: { readonly nowMs: number; readonly dryRun: boolean },
): Promise<RetainReport> {
  const rows = await listRows(engine, policy.label);
  const contexts = [...rows.values()].map(toRetainable).toSorted(byClaim);
  const weighed = policy.maxBytes === undefined ? contexts : await weigh(engine, contexts, rows);
  const { remove, keep } = planRetention(weighed, policy, options.nowMs);
  const removed: RemovedContext[] = [];
  for (const context of remove) {
    if (!options.dryRun && !(await removeUnused(engine, context))) continue;
    const { id, title, updatedAt, bytes } = context;
    removed.push(given({ id, updatedAt, bytes, title }));
  }
  return {
    removed,
    kept: rows.size - removed.length,
    pinned: keep.filter(({ pinned }) => pinned).length,
    dryRun: options.dryRun,
  };
}

/** A context may move while it is listed and appear twice: its last row counts. */
async function listRows(
  engine: Engine,
  label: string | undefined,
): Promise<Map<ContextId, ContextRow>> {
  const rows = new Map<ContextId, ContextRow>();
  const query = given({ limit: PAGE_CONTEXTS, label });
  const pages = eachPage((after) => engine.listContexts({ ...query, ...after }));
  for await (const page of pages) for (const row of page.rows) rows.set(row.id, row);
  return rows;
}

function toRetainable({ id, updatedAt, openTurn, meta }: ContextRow): Retainable {
  const { title, labels = [], meta: free } = meta;
  const isPinned =
    labels.includes('pinned') ||
    (typeof free === 'object' && free !== null && 'pinned' in free && free.pinned === true);
  // A context with an open turn counts as pinned: a client is writing to it.
  const pinned = isPinned || openTurn !== NO_TURN;
  return given({ id, title, updatedAt, labels, pinned, bytes: 0 });
}

/** Walks each chain until it meets one that was counted before, so every turn is counted once. */
async function weigh(
  engine: Engine,
  contexts: readonly Retainable[],
  rows: ReadonlyMap<ContextId, ContextRow>,
): Promise<Retainable[]> {
  const counted = new BitSet();
  const weighed: Retainable[] = [];
  for (const context of contexts) {
    const head = rows.get(context.id)?.head ?? NO_TURN;
    weighed.push({ ...context, bytes: await weighChain(engine, head, counted) });
  }
  return weighed;
}

async function weighChain(engine: Engine, head: TurnId, counted: BitSet): Promise<number> {
  let bytes = 0;
  let next = head;
  while (next !== NO_TURN && !counted.has(Number(next))) {
    for (const { id, parent, size } of await engine.walkBack(next, PAGE_TURNS)) {
      if (counted.has(Number(id))) return bytes;
      counted.add(Number(id));
      bytes += size;
      next = parent;
    }
  }
  return bytes;
}

/** False when the context is in use again, or gone already. */
async function removeUnused(engine: Engine, { id, updatedAt }: Retainable): Promise<boolean> {
  const head = await engine.getHead(id);
  if (head === undefined || head.updatedAt !== updatedAt || head.openTurn !== NO_TURN) return false;
  const batch = { contexts: [{ do: 'remove', context: id }] } as const;
  return (await orNothing(() => engine.commit(batch), 'NOT_FOUND')) !== undefined;
}

export interface RetentionPolicy {
  /** Removes contexts to which nothing was appended for this long. */
  readonly maxAgeMs?: number;
  /** Removes the oldest contexts until the payloads that the others lead to take at most this many bytes. */
  readonly maxBytes?: number;
  /** Look only at contexts with this label. */
  readonly label?: string;
  /** This many of the newest contexts stay, whatever their age and size. */
  readonly keep?: number;
}

/** A context as the policy sees it. */
export interface Retainable {
  readonly id: ContextId;
  readonly title?: string;
  readonly updatedAt: number;
  readonly labels: readonly string[];
  /** The context has the label `pinned`, or `pinned: true` in its metadata: no policy removes it. */
  readonly pinned: boolean;
  /** Payload bytes that this context leads to and that pinned and newer contexts do not. 0 when not asked for. */
  readonly bytes: number;
}

export interface RetentionPlan {
  readonly remove: readonly Retainable[];
  readonly keep: readonly Retainable[];
}

/** Sorts pinned contexts first, then by age, newest first: the order in which contexts may claim to stay. */
export function byClaim(a: Retainable, b: Retainable): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  return b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1);
}

/** Decides which contexts go and removes none. `contexts` must be sorted by `byClaim`. */
export function planRetention(
  contexts: readonly Retainable[],
  policy: RetentionPolicy,
  nowMs: number,
): RetentionPlan {
  const { maxAgeMs = Infinity, maxBytes = Infinity, label, keep: keepCount = 0 } = policy;
  const asked = contexts.filter(({ labels }) => label === undefined || labels.includes(label));
  const remove: Retainable[] = [];
  const keep: Retainable[] = [];
  let bytes = 0;
  let free = 0;
  for (const context of asked) {
    const isSafe = context.pinned || free < keepCount;
    const isTooOld = nowMs - context.updatedAt > maxAgeMs;
    // Once a context did not fit, older ones are removed too: a gap in the history would surprise.
    const isTooMuch = bytes + context.bytes > maxBytes || remove.length > 0;
    if (!isSafe && (isTooOld || isTooMuch)) {
      remove.push(context);
      continue;
    }
    keep.push(context);
    bytes += context.bytes;
    if (!context.pinned) free += 1;
  }
  return { remove, keep };
}
