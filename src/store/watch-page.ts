import type { ContextId, TurnId } from '../base/brand.ts';
import { isQuipuError } from '../base/errors.ts';
import type { Engine, Tips } from '../engine/engine.ts';
import type { ContextRow, PatchRow, TurnRow } from '../engine/rows.ts';
import type { WatchPosition } from './watch-position.ts';

/** Records read at a time, and so held for one reader. */
export const PAGE_RECORDS = 1000;
/** Contexts read at a time. Fewer, because the details of a context may take 64 KiB. */
export const PAGE_CONTEXTS = 100;

/** A record that is to be reported. */
export type Due =
  | { readonly what: 'context'; readonly id: ContextId }
  /** `sealed`: the turn was reported as opened. */
  | { readonly what: 'turn'; readonly id: TurnId; readonly sealed: boolean }
  | { readonly what: 'patch'; readonly id: number };

/** The records by their kind: `undefined` for a record that is not there. */
export interface ReadRecords {
  readonly contexts: ReadonlyMap<ContextId, ContextRow | 'damaged'>;
  readonly turns: ReadonlyMap<TurnId, TurnRow | 'damaged'>;
  readonly patches: ReadonlyMap<number, PatchRow | 'damaged'>;
}

/**
 * The next records up to `now`. Contexts come before their turns, the end of a turn before the turns appended after it,
 * and a turn before its patches.
 */
export function planPage(position: WatchPosition, now: Tips): Due[] {
  const due: Due[] = [];
  const last = position.context + BigInt(PAGE_CONTEXTS);
  for (let id = position.context + 1n; id <= now.context; id += 1n) {
    if (id > last) return due;
    due.push({ what: 'context', id: id as ContextId });
  }
  const stillOpen = new Set(now.open);
  for (const id of position.open) {
    if (!stillOpen.has(id)) due.push({ what: 'turn', id, sealed: true });
  }
  for (let id = position.turn + 1n; id <= now.turn; id += 1n) {
    if (due.length >= PAGE_RECORDS) return due;
    due.push({ what: 'turn', id: id as TurnId, sealed: false });
  }
  for (let id = position.patch + 1; id <= now.patch && due.length < PAGE_RECORDS; id += 1) {
    due.push({ what: 'patch', id });
  }
  return due;
}

/** Reads all records with one request, unless some are damaged. */
export async function readRecords(engine: Engine, due: readonly Due[]): Promise<ReadRecords> {
  const read = { contexts: new Map(), turns: new Map(), patches: new Map() };
  await readInto(engine, due, read);
  return read;
}

export function readRow(
  { contexts, turns, patches }: ReadRecords,
  due: Due,
): ContextRow | TurnRow | PatchRow | 'damaged' | undefined {
  if (due.what === 'context') return contexts.get(due.id);
  return due.what === 'turn' ? turns.get(due.id) : patches.get(due.id);
}

interface Into {
  readonly contexts: Map<ContextId, ContextRow | 'damaged'>;
  readonly turns: Map<TurnId, TurnRow | 'damaged'>;
  readonly patches: Map<number, PatchRow | 'damaged'>;
}

/** A damaged record holds up neither later records nor the reader: it is found by halving. */
async function readInto(engine: Engine, due: readonly Due[], into: Into): Promise<void> {
  const [first] = due;
  if (first === undefined) return;
  try {
    const found = await engine.getMany({
      contexts: due.flatMap((one) => (one.what === 'context' ? [one.id] : [])),
      turns: due.flatMap((one) => (one.what === 'turn' ? [one.id] : [])),
      patches: due.flatMap((one) => (one.what === 'patch' ? [one.id] : [])),
    });
    for (const row of found.contexts) into.contexts.set(row.id, row);
    for (const row of found.turns) into.turns.set(row.id, row);
    for (const row of found.patches) into.patches.set(row.seq, row);
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    if (due.length === 1) return noteDamaged(first, into);
    const half = Math.ceil(due.length / 2);
    await readInto(engine, due.slice(0, half), into);
    await readInto(engine, due.slice(half), into);
  }
}

function noteDamaged(due: Due, into: Into): void {
  if (due.what === 'context') into.contexts.set(due.id, 'damaged');
  else if (due.what === 'turn') into.turns.set(due.id, 'damaged');
  else into.patches.set(due.id, 'damaged');
}
