import { NO_TURN, type ContextId, type Hash, type TurnId } from '../../base/brand.ts';
import { notFound } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { HeadRow } from '../../engine/rows.ts';
import type { TurnView } from '../turn.ts';
import type { CheckedRead } from '../check-input.ts';
import { PAGE_TURNS_MAX } from '../limits.ts';
import type { LoadedPage, PageRequest } from './loaded-page.ts';
import {
  loadTurns,
  mustGetHead,
  mustGetTurn,
  noContext,
  toViews,
  viewTurns,
  walkDepths,
  walkUpTo,
} from './read-turns.ts';

/** Trusts that the request is checked. A page ends at 10,000 turns, or where its payloads get too many. */
export async function readPage(
  engine: Engine,
  request: PageRequest,
  read: CheckedRead,
): Promise<LoadedPage> {
  switch (request.kind) {
    case 'last':
      return readLast(engine, request, read);
    case 'before':
      return readBefore(engine, request, read);
    case 'range': {
      const { head, headDepth } = await mustGetHead(engine, request.context);
      return readDepths(engine, { ...request, tip: head, tipDepth: headDepth }, read);
    }
    case 'chain': {
      const { depth } = await mustGetTurn(engine, request.tip);
      return readDepths(engine, { ...request, tipDepth: depth }, read);
    }
  }
}

async function readLast(
  engine: Engine,
  { context, n }: { readonly context: ContextId; readonly n: number },
  read: CheckedRead,
): Promise<LoadedPage> {
  if (engine.readLast !== undefined && n > 0) {
    const last = await engine.readLast(context, n, read.payload === false ? 0 : read.maxBytes);
    if (last === undefined) throw noContext(context);
    const views = toViews({ ...last, turns: last.turns.toReversed() }, read.as);
    return toPageBack(engine, { views, headDepth: last.headDepth, blobs: last.blobs }, read);
  }
  const head = await mustGetHead(engine, context);
  return readBack(engine, { from: head.head, n, headDepth: head.headDepth }, read);
}

async function readBefore(
  engine: Engine,
  page: Extract<PageRequest, { kind: 'before' }>,
  read: CheckedRead,
): Promise<LoadedPage> {
  const head = await mustGetHead(engine, page.context);
  const turn = await mustGetTurn(engine, page.turn);
  if (turn.context !== page.context && !(await leadsTo(engine, turn, head))) {
    throw notFound('turn', String(turn.id), `turn ${turn.id} is not in context ${page.context}`);
  }
  return readBack(engine, { from: turn.parent, n: page.n, headDepth: head.headDepth }, read);
}

interface PageDepths {
  readonly tip: TurnId;
  readonly tipDepth: number;
  readonly from: number;
  readonly to: number;
}

async function readDepths(
  engine: Engine,
  page: PageDepths,
  read: CheckedRead,
): Promise<LoadedPage> {
  const { tip, tipDepth: headDepth } = page;
  const end = Math.min(page.to, headDepth + 1);
  const pageEnd = Math.min(end, page.from + PAGE_TURNS_MAX);
  if (tip === NO_TURN || page.from >= end) {
    return { turns: [], cursor: undefined, nextDepth: undefined, headDepth };
  }

  const rows = await walkDepths(engine, tip, page.from, pageEnd - 1);
  const views = await viewTurns(engine, rows, read.as);
  const kept = read.payload === false ? views : keepOldest(views, read.maxBytes);
  const nextDepth = page.from + kept.length;
  return {
    turns: await loadTurns(engine, kept, read.payload),
    cursor: undefined,
    nextDepth: nextDepth < end ? nextDepth : undefined,
    headDepth,
  };
}

interface PageBack {
  readonly from: TurnId;
  readonly n: number;
  readonly headDepth: number;
}

async function readBack(engine: Engine, page: PageBack, read: CheckedRead): Promise<LoadedPage> {
  const rows = await walkUpTo(engine, page.from, page.n);
  const views = await viewTurns(engine, rows, read.as);
  return toPageBack(engine, { views, headDepth: page.headDepth }, read);
}

interface PageViews {
  /** Sorted, older first. */
  readonly views: readonly TurnView[];
  readonly headDepth: number;
  /** Payloads in memory, when the engine gave some along. */
  readonly blobs?: ReadonlyMap<Hash, Uint8Array>;
}

async function toPageBack(
  engine: Engine,
  { views, headDepth, blobs }: PageViews,
  read: CheckedRead,
): Promise<LoadedPage> {
  const kept = read.payload === false ? views : keepNewest(views, read.maxBytes);
  const oldest = kept[0]?.row;
  const peek = blobs && ((hash: Hash): Uint8Array | undefined => blobs.get(hash));
  return {
    turns: await loadTurns(engine, kept, read.payload, peek),
    cursor: oldest === undefined || oldest.parent === NO_TURN ? undefined : oldest.id,
    nextDepth: undefined,
    headDepth,
  };
}

/** Returns whether the turn is the head or one of its ancestors. */
export async function leadsTo(
  engine: Engine,
  turn: { readonly id: TurnId; readonly depth: number },
  head: HeadRow,
): Promise<boolean> {
  if (head.head === NO_TURN || turn.depth > head.headDepth) return false;
  return (await engine.ancestorAt(head.head, turn.depth))?.id === turn.id;
}

/** Returns the number of the first `items` that go into one page: always one, then as many as the bytes allow. */
function countFitting(items: readonly { readonly size: number }[], maxBytes: number): number {
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    bytes += item.size;
    if (bytes > maxBytes && index > 0) return index;
  }
  return items.length;
}

/** Returns the oldest of `items` (older first) that fit. */
export function keepOldest<T extends { readonly size: number }>(
  items: readonly T[],
  maxBytes: number,
): T[] {
  return items.slice(0, countFitting(items, maxBytes));
}

/** Returns the newest of `items` (older first) that fit. */
export function keepNewest<T extends { readonly size: number }>(
  items: readonly T[],
  maxBytes: number,
): T[] {
  return items.slice(items.length - countFitting(items.toReversed(), maxBytes));
}
