import { isFields } from '../../base/fields.ts';
import { invalid } from '../../base/errors.ts';
import type { ContextList, ContextQuery, FieldCondition, TimeRange } from '../../engine/engine.ts';
import type { ModelContext, ModelState } from './model-state.ts';

/**
 * The position of a reader. Contexts that move while someone pages go to the top, which that reader has passed already.
 * So a listing ends with further rounds over the contexts that moved since the round before began.
 */
interface Cursor {
  /** Only contexts that moved in a later commit belong to this round. */
  readonly floorSeq: number;
  /** The last commit when this round began. */
  readonly roundSeq: number;
  /** The last row given; undefined at the start of a round. */
  readonly updatedAt?: number;
  readonly id?: string;
}

export function listContexts(state: ModelState, query: ContextQuery): ContextList {
  const list = listPage(state, query);
  if (query.count !== true) return list;
  const all = [...state.contexts.values()].filter((context) => isAsked(context, query));
  return { ...list, total: all.length };
}

function listPage(state: ModelState, query: ContextQuery): ContextList {
  const cursor: Cursor =
    query.cursor === undefined ? { floorSeq: 0, roundSeq: state.seq } : parseCursor(query.cursor);
  const matching = [...state.contexts.values()].filter((context) => isAsked(context, query));
  const left = matching
    .filter((context) => context.movedSeq > cursor.floorSeq && isAfter(context, cursor))
    .toSorted(newestFirst);
  const rows = left.slice(0, query.limit).map((context) => context.row);
  const last = rows.at(-1);
  const next: Cursor = { floorSeq: cursor.roundSeq, roundSeq: state.seq };
  if (last !== undefined && rows.length < left.length) {
    return { rows, cursor: toText({ ...cursor, updatedAt: last.updatedAt, id: String(last.id) }) };
  }
  if (matching.some((context) => context.movedSeq > cursor.roundSeq))
    return { rows, cursor: toText(next) };
  return { rows };
}

function isAsked(context: ModelContext, query: ContextQuery): boolean {
  const { name, kind, labels = [], meta } = context.row.meta;
  if (context.removed) return false;
  if (!isWithin(context.row.createdAt, query.created)) return false;
  if (!isWithin(context.row.updatedAt, query.updated)) return false;
  if (!(query.fields ?? []).every((condition) => fits(meta, condition))) return false;
  if (query.namePrefix !== undefined && name?.startsWith(query.namePrefix) !== true) return false;
  if (query.kind !== undefined && query.kind !== kind) return false;
  return query.label === undefined || labels.includes(query.label);
}

function isWithin(time: number, { since = 0, until = Infinity }: TimeRange = {}): boolean {
  return time >= since && time < until;
}

function fits(meta: unknown, condition: FieldCondition): boolean {
  const fields = isFields(meta) ? meta : {};
  const isThere = Object.hasOwn(fields, condition.field);
  const value = isThere ? fields[condition.field] : undefined;
  if ('exists' in condition) return isThere === condition.exists;
  if ('is' in condition) return isThere && value === condition.is;
  return typeof value === 'string' && value.startsWith(condition.prefix);
}

function isAfter(context: ModelContext, { updatedAt, id }: Cursor): boolean {
  if (updatedAt === undefined || id === undefined) return true;
  const { row } = context;
  return row.updatedAt < updatedAt || (row.updatedAt === updatedAt && row.id < BigInt(id));
}

function newestFirst(a: ModelContext, b: ModelContext): number {
  return b.row.updatedAt - a.row.updatedAt || Number(b.row.id - a.row.id);
}

function toText(cursor: Cursor): string {
  return JSON.stringify(cursor);
}

function parseCursor(text: string): Cursor {
  try {
    return JSON.parse(text) as Cursor;
  } catch (error) {
    throw invalid('cursor', `is not a cursor of an earlier listing: ${String(error)}`);
  }
}
