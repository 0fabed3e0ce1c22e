import { NO_TURN } from '../base/brand.ts';
import { given } from '../base/given.ts';
import { jsonable, type ShownFields } from '../base/jsonable.ts';
import type { ContextMeta, ContextRow, HeadRow } from '../engine/rows.ts';
import { ContextFlag } from '../format/head-record.ts';

/** A movable head on the tree of turns, with its details. */
export interface Context extends HeadRow, Omit<ContextMeta, 'labels'> {
  /** Flags of the head: 2 while a turn is being streamed, 4 for a fork. Other bits may come. */
  readonly flags: number;
  readonly labels: readonly string[];
  toJSON(): ContextJson;
}

/** Ids as decimal strings. */
export type ContextJson = ShownFields<Context>;

/** A context as the engine had it. The object does not change when the context moves. */
export function toContext(row: ContextRow): Context {
  const { id, head, headDepth, base, openTurn, createdAt, updatedAt } = row;
  const { name, title, kind, labels = [], meta } = row.meta;
  const flags =
    (openTurn === NO_TURN ? 0 : ContextFlag.OPEN) | (base === NO_TURN ? 0 : ContextFlag.FORKED);
  return jsonable({
    id,
    head,
    headDepth,
    base,
    openTurn,
    flags,
    createdAt,
    updatedAt,
    ...given({ name, title, kind }),
    labels,
    ...given({ meta }),
  });
}
