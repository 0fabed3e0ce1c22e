import { NO_TURN } from '../base/brand.ts';
import type { ContextId, TurnId } from '../base/brand.ts';
import { QuipuError } from '../base/errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { HeadRow } from '../engine/rows.ts';
import type { CheckedRead } from './check-input.ts';
import type { TurnPage } from './contexts.ts';
import { keepNewest, keepOldest } from './cut-page.ts';
import { PAGE_TURNS_MAX } from './limits.ts';
import {
  loadTurns,
  mustGetHead,
  mustGetTurn,
  viewTurns,
  walkDepths,
  walkUpTo,
} from './read-turns.ts';

export async function readLast(
  engine: Engine,
  id: ContextId,
  n: number,
  read: CheckedRead,
): Promise<TurnPage> {
  const head = await mustGetHead(engine, id);
  return readBack(engine, { from: head.head, n, headDepth: head.headDepth }, read);
}

export interface PageBefore {
  readonly context: ContextId;
  readonly turn: TurnId;
  readonly n: number;
}

export async function readBefore(
  engine: Engine,
  page: PageBefore,
  read: CheckedRead,
): Promise<TurnPage> {
  const head = await mustGetHead(engine, page.context);
  const turn = await mustGetTurn(engine, page.turn);
  if (turn.context !== page.context && !(await leadsTo(engine, turn, head))) {
    throw new QuipuError('NOT_FOUND', `turn ${turn.id} is not in context ${page.context}`, {
      what: 'turn',
      id: String(turn.id),
    });
  }
  return readBack(engine, { from: turn.parent, n: page.n, headDepth: head.headDepth }, read);
}

export interface PageRange {
  readonly context: ContextId;
  readonly from: number;
  readonly to: number;
}

export async function readRange(
  engine: Engine,
  page: PageRange,
  read: CheckedRead,
): Promise<TurnPage> {
  const { head, headDepth } = await mustGetHead(engine, page.context);
  const end = Math.min(page.to, headDepth + 1);
  const pageEnd = Math.min(end, page.from + PAGE_TURNS_MAX);
  if (head === NO_TURN || page.from >= end) return { turns: [], headDepth };

  const rows = await walkDepths(engine, head, page.from, pageEnd - 1);
  const views = await viewTurns(engine, rows, read.as);
  const kept = read.payload ? keepOldest(views, read.maxBytes) : views;
  const nextDepth = page.from + kept.length;
  return {
    turns: await loadTurns(engine, kept, read.payload),
    ...(nextDepth < end && { nextDepth }),
    headDepth,
  };
}

interface PageBack {
  readonly from: TurnId;
  readonly n: number;
  readonly headDepth: number;
}

async function readBack(engine: Engine, page: PageBack, read: CheckedRead): Promise<TurnPage> {
  const rows = await walkUpTo(engine, page.from, page.n);
  const views = await viewTurns(engine, rows, read.as);
  const kept = read.payload ? keepNewest(views, read.maxBytes) : views;
  const oldest = kept[0]?.row;
  return {
    turns: await loadTurns(engine, kept, read.payload),
    ...(oldest !== undefined && oldest.parent !== NO_TURN && { cursor: oldest.id }),
    headDepth: page.headDepth,
  };
}

async function leadsTo(
  engine: Engine,
  turn: { readonly id: TurnId; readonly depth: number },
  head: HeadRow,
): Promise<boolean> {
  if (head.head === NO_TURN || turn.depth > head.headDepth) return false;
  return (await engine.ancestorAt(head.head, turn.depth))?.id === turn.id;
}
