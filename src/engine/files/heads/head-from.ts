import type { ContextId, TurnId } from '../../../base/brand.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import type { TurnRecord } from '../../../format/turn-record.ts';
import type { ContextPlace } from '../index/shelf.ts';

// Rebuilds a damaged head from other sources. A context only ever moves on to its own newest turn, so its turns
// tell its head. The index tells the rest, and was up to date when the damage was found.

export interface HeadSources {
  readonly id: number;
  /** The first turn id not in use. A source that names a later turn is wrong. */
  readonly nextTurn: number;
  /** The index entry of the context. */
  readonly seen: ContextPlace | undefined;
  /** The record in the table, when its checksum is right. */
  readonly slot: HeadRecord | undefined;
  /** The first and the newest turn of the context. None for a context without turns of its own. */
  readonly turns: { readonly first: TurnRecord; readonly newest: TurnRecord } | undefined;
  /** True when some turn cannot be read: it may be the newest of any context. */
  readonly unsure: boolean;
  /** True when the context's document says that the context was removed. */
  readonly removed: boolean;
  readonly open: { readonly turn: TurnId; readonly bytes: number } | undefined;
}

/** All fields but the depth, which the head's turn has. Undefined when no source knows the head. */
export function headFrom(sources: HeadSources): Omit<HeadRecord, 'headDepth'> | undefined {
  const { id, seen, turns, unsure, removed, open } = sources;
  const born = bornOf(sources);
  if (born === undefined) return undefined;
  const newest = Number(turns?.newest.id ?? 0);
  // The index may know a turn that cannot be read any more.
  const known = seen !== undefined && seen.head >= newest && seen.head < sources.nextTurn;
  if (!known && unsure) return undefined;
  const head = known ? seen.head : newest === 0 ? born.base : newest;
  const updatedAt = known ? seen.updatedAt : (turns?.newest.createdAt ?? born.createdAt);
  return {
    id: BigInt(id) as ContextId,
    head: BigInt(head) as TurnId,
    base: BigInt(born.base) as TurnId,
    openTurn: (removed ? undefined : open?.turn) ?? (0n as TurnId),
    openBytes: removed ? 0 : (open?.bytes ?? 0),
    createdAt: born.createdAt,
    updatedAt,
    removed,
  };
}

/** The base and the creation time, which never change: from the index, the old record, or the first turn. */
function bornOf({ nextTurn, seen, slot, turns }: HeadSources): Born | undefined {
  const places = [seen, slot && { base: Number(slot.base), createdAt: slot.createdAt }];
  const told = places.find((place) => place !== undefined && place.base < nextTurn);
  if (told !== undefined) return { base: told.base, createdAt: told.createdAt };
  if (turns === undefined) return undefined;
  return { base: Number(turns.first.parent), createdAt: turns.first.createdAt };
}

interface Born {
  readonly base: number;
  readonly createdAt: number;
}
