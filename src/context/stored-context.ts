import { NO_TURN } from '../base/brand.ts';
import type { ContextId, TurnId } from '../base/brand.ts';
import type { ContextRow } from '../engine/rows.ts';
import { ContextFlag } from '../format/head-record.ts';
import type { Context, ContextJson } from './context.ts';

/** A context as the engine had it. The object does not change when the context moves. */
export class StoredContext implements Context {
  readonly id: ContextId;
  readonly head: TurnId;
  readonly headDepth: number;
  readonly base: TurnId;
  readonly openTurn: TurnId;
  readonly flags: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly name?: string;
  readonly title?: string;
  readonly kind?: string;
  readonly labels: readonly string[];
  readonly meta?: unknown;

  constructor(row: ContextRow) {
    const { name, title, kind, labels, meta } = row.meta;
    this.id = row.id;
    this.head = row.head;
    this.headDepth = row.headDepth;
    this.base = row.base;
    this.openTurn = row.openTurn;
    this.flags =
      (row.openTurn === NO_TURN ? 0 : ContextFlag.OPEN) |
      (row.base === NO_TURN ? 0 : ContextFlag.FORKED);
    this.createdAt = row.createdAt;
    this.updatedAt = row.updatedAt;
    if (name !== undefined) this.name = name;
    if (title !== undefined) this.title = title;
    if (kind !== undefined) this.kind = kind;
    this.labels = labels ?? [];
    this.meta = meta;
  }

  toJSON(): ContextJson {
    const { name, title, kind, meta } = this;
    return {
      id: String(this.id),
      head: String(this.head),
      headDepth: this.headDepth,
      base: String(this.base),
      openTurn: String(this.openTurn),
      flags: this.flags,
      createdAt: this.createdAt,
      updatedAt: this.updatedAt,
      ...(name !== undefined && { name }),
      ...(title !== undefined && { title }),
      ...(kind !== undefined && { kind }),
      labels: [...this.labels],
      ...(meta !== undefined && { meta }),
    };
  }
}
