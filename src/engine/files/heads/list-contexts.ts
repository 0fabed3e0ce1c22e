import type { ContextId } from '../../../base/brand.ts';
import { invalid } from '../../../base/errors.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import type { ContextList, ContextQuery, Found, Wanted } from '../../engine.ts';
import { toRange } from '../../context-meta.ts';
import { toHeadRow } from '../../plan/report.ts';
import { type ContextRow, type HeadRow, type PatchRow, showRows } from '../../rows.ts';
import type { ContextPageQuery } from '../index/shelf.ts';
import type { State } from '../truth/state.ts';

// Contexts by recency. A context that moves during paging goes to the top, which the reader has already passed. So
// a listing ends with further rounds over the contexts that moved since the round before began.

/** A moment of the store. A context moved after it if its head or its own id is newer. */
interface Moment {
  readonly ms: number;
  readonly turn: number;
  readonly context: number;
}

interface Cursor {
  /** Only contexts that moved after this belong to the round. */
  readonly floor: Moment;
  /** The moment when the round began. */
  readonly round: Moment;
  /** The last row given; undefined at the start of a round. */
  readonly at: { readonly updatedAt: number; readonly id: number } | undefined;
}

const BEGINNING: Moment = { ms: 0, turn: 0, context: 0 };

export async function listContexts(core: State, query: ContextQuery): Promise<ContextList> {
  core.damage.assertWhole('heads');
  const list = await listPage(core, query);
  if (query.count !== true) return list;
  return { ...list, total: core.index.flushed().countContexts({ ...filterOf(query), limit: 0 }) };
}

async function listPage(core: State, query: ContextQuery): Promise<ContextList> {
  let cursor = query.cursor === undefined ? firstCursor(core) : parseCursor(query.cursor);
  const rows: ContextRow[] = [];
  while (rows.length < query.limit) {
    const ids = core.index.flushed().listContexts({
      ...filterOf(query),
      ...(cursor.at === undefined ? {} : { before: cursor.at }),
      limit: query.limit - rows.length,
    });
    for (const id of ids) {
      const head = await core.getHead(id);
      if (head === undefined || head.removed) continue;
      cursor = { ...cursor, at: { updatedAt: head.updatedAt, id } };
      if (head.updatedAt < cursor.floor.ms) return finish(core, query, cursor, rows);
      if (movedAfter(head, cursor.floor)) rows.push(await toRow(core, head));
    }
    if (ids.length === 0) return finish(core, query, cursor, rows);
  }
  return { rows, cursor: toText(cursor) };
}

function filterOf(query: ContextQuery): Omit<ContextPageQuery, 'limit'> {
  const { fields, count: _count, cursor: _cursor, limit: _limit, ...filter } = query;
  return { ...filter, ...(fields !== undefined && { fields: fields.map(toRange) }) };
}

/** The round is over. Another round follows only if something moved since it began. */
async function finish(
  core: State,
  query: ContextQuery,
  { round }: Cursor,
  rows: ContextRow[],
): Promise<ContextList> {
  const next = momentOf(core);
  const sameMoment =
    next.ms === round.ms && next.turn === round.turn && next.context === round.context;
  if (sameMoment || !(await hasMovedSince(core, query, round))) return { rows };
  return { rows, cursor: toText({ floor: round, round: next, at: undefined }) };
}

/** A context that did not move may have the time of the moment and a larger id, so the newest alone does not tell. */
async function hasMovedSince(core: State, query: ContextQuery, moment: Moment): Promise<boolean> {
  for (let before: Cursor['at']; ;) {
    const [id] = core.index.flushed().listContexts({
      ...filterOf(query),
      ...(before === undefined ? {} : { before }),
      limit: 1,
    });
    const head = id === undefined ? undefined : await core.getHead(id);
    if (id === undefined || head === undefined || head.updatedAt < moment.ms) return false;
    if (movedAfter(head, moment)) return true;
    before = { updatedAt: head.updatedAt, id };
  }
}

function movedAfter(head: HeadRecord, moment: Moment): boolean {
  return Number(head.head) >= moment.turn || Number(head.id) >= moment.context;
}

/** A turn that is open now may become a head later, with an id that is small by then. */
function momentOf(core: State): Moment {
  const { nextTurn, nextContext, timeMs } = core.tails;
  const turn = Math.min(nextTurn, ...core.openTurns.keys());
  return { ms: timeMs, turn, context: nextContext };
}

function firstCursor(core: State): Cursor {
  return { floor: BEGINNING, round: momentOf(core), at: undefined };
}

async function toRow(core: State, head: HeadRecord): Promise<ContextRow> {
  return { ...toHeadRow(head), meta: await core.getContextMeta(Number(head.id as ContextId)) };
}

function toText(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function parseCursor(text: string): Cursor {
  try {
    const cursor = JSON.parse(Buffer.from(text, 'base64url').toString()) as Cursor;
    if (typeof cursor.floor.turn === 'number' && typeof cursor.round.turn === 'number')
      return cursor;
  } catch {
    // Falls through: no listing gave this cursor.
  }
  throw invalid('cursor', 'is not a cursor of an earlier listing; start again without it');
}

/** Undefined for a context that was removed. */
export async function getHead(core: State, id: number): Promise<HeadRow | undefined> {
  const head = await core.getHead(id);
  return head === undefined || head.removed ? undefined : toHeadRow(head);
}

export async function getContext(core: State, id: number): Promise<ContextRow | undefined> {
  const head = await getHead(core, id);
  return head && { ...head, meta: await core.getContextMeta(id) };
}

export async function findContext(core: State, name: string): Promise<ContextRow | undefined> {
  const id = core.findName(name);
  return id === undefined ? undefined : getContext(core, id);
}

export async function getMany(core: State, wanted: Wanted): Promise<Found> {
  const contexts: ContextRow[] = [];
  for (const id of wanted.contexts ?? []) {
    const row = await getContext(core, Number(id));
    if (row !== undefined) contexts.push(row);
  }
  const heads: HeadRow[] = [];
  for (const id of wanted.heads ?? []) {
    const head = await getHead(core, Number(id));
    if (head !== undefined) heads.push(head);
  }
  const turns = (await core.findTurns((wanted.turns ?? []).map(Number))).map(({ row }) => row);
  const patches: readonly PatchRow[] = await core.getPatchesAt(wanted.patches ?? []);
  return { contexts, heads, turns: showRows(core, turns), patches: showRows(core, patches) };
}
