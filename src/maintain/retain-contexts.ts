import { NO_TURN } from '../base/brand.ts';
import type { ContextId, TurnId } from '../base/brand.ts';
import { isQuipuError } from '../base/errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { ContextRow } from '../engine/rows.ts';
import { byClaim, planRetention } from './retention.ts';
import type { Retainable, RetentionPolicy } from './retention.ts';
import { TurnBits } from './turn-bits.ts';

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
    removed.push({ id, updatedAt, bytes, ...(title !== undefined && { title }) });
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
  let cursor: string | undefined;
  do {
    const page = await engine.listContexts({
      limit: PAGE_CONTEXTS,
      ...(label !== undefined && { label }),
      ...(cursor !== undefined && { cursor }),
    });
    for (const row of page.rows) rows.set(row.id, row);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

function toRetainable({ id, updatedAt, openTurn, meta }: ContextRow): Retainable {
  const { title, labels = [], meta: free } = meta;
  const isPinned =
    labels.includes('pinned') ||
    (typeof free === 'object' && free !== null && 'pinned' in free && free.pinned === true);
  return {
    id,
    updatedAt,
    labels,
    // A context with an open turn counts as pinned: a client is writing to it.
    pinned: isPinned || openTurn !== NO_TURN,
    bytes: 0,
    ...(title !== undefined && { title }),
  };
}

/** Walks each chain until it meets one that was counted before, so every turn is counted once. */
async function weigh(
  engine: Engine,
  contexts: readonly Retainable[],
  rows: ReadonlyMap<ContextId, ContextRow>,
): Promise<Retainable[]> {
  const counted = new TurnBits();
  const weighed: Retainable[] = [];
  for (const context of contexts) {
    const head = rows.get(context.id)?.head ?? NO_TURN;
    weighed.push({ ...context, bytes: await weighChain(engine, head, counted) });
  }
  return weighed;
}

async function weighChain(engine: Engine, head: TurnId, counted: TurnBits): Promise<number> {
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
  try {
    await engine.commit({ contexts: [{ do: 'remove', context: id }] });
    return true;
  } catch (error) {
    if (isQuipuError(error, 'NOT_FOUND')) return false;
    throw error;
  }
}
