import type { ContextId, TurnId } from '../../../base/brand.ts';
import {
  decodeHeadRecord,
  encodeHeadRecord,
  HEAD_RECORD_BYTES,
  type HeadRecord,
} from '../../../format/head-record.ts';
import { headByRecords, type HeadMove } from '../../../format/head-moves.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import { type TurnRecord } from '../../../format/turn-record.ts';
import { unlessCorrupt } from '../disk/io-error.ts';
import { contextDoc } from '../docs/doc-log.ts';
import type { ContextPlace } from '../index/shelf.ts';
import { lacksType } from '../open-turns/open-turns.ts';
import type { State, StateWriter } from '../truth/state.ts';
import { TURN_RECORDS } from '../turns/turn-table.ts';
import { HEAD_RECORDS, HEADS_FILE, readMove } from './head-table.ts';

/** The first and the newest turn of a context. */
interface OwnTurns {
  readonly first: TurnRecord;
  readonly newest: TurnRecord;
}

/** Rebuilds the records of these contexts, as far as other sources know them. No commit runs meanwhile. */
export async function mendHeads(writer: StateWriter, contexts: ReadonlySet<number>): Promise<void> {
  if (contexts.size === 0) return;
  await writer.exclusively(async () => {
    const { core } = writer;
    const { turns, unsure } = await readOwnTurns(core, contexts);
    const heads: HeadRecord[] = [];
    for (const id of [...contexts].sort((a, b) => a - b)) {
      const head = await headOf(core, id, turns.get(id), unsure);
      if (head !== undefined) heads.push(head);
    }
    const writes = heads.map((head): JournalWrite => {
      const offset = Number(head.id) * HEAD_RECORD_BYTES;
      return { kind: 'bytes', path: HEADS_FILE, offset, data: encodeHeadRecord(head) };
    });
    if (writes.length === 0) return;
    await writer.storeWrites(writes, () => {
      for (const head of heads) core.absorbHead(head);
    });
  });
}

async function headOf(
  core: State,
  id: number,
  turns: OwnTurns | undefined,
  unsure: boolean,
): Promise<HeadRecord | undefined> {
  const found = decodeHeadRecord(await HEAD_RECORDS.readBytes(core.files, id));
  if (found !== undefined && (await lacksType(core, Number(found.openTurn)))) return undefined;
  const open = [...core.openTurns.values()].find(({ row }) => Number(row.context) === id)?.row;
  const seen = core.index.getContext(id);
  const removed = seen?.removed ?? (await isRemoved(core, id));
  if (removed === undefined) return undefined;
  const head = headFrom({
    id,
    nextTurn: core.tails.nextTurn,
    seen,
    slot: Number(found?.id) === id ? found : undefined,
    turns,
    move: await readMove(core, id),
    unsure,
    removed,
    open: open && { turn: open.id, bytes: open.size },
  });
  if (head === undefined) return undefined;
  if (head.head === 0n) return { ...head, headDepth: 0 };
  const turn = await TURN_RECORDS.read(core.files, Number(head.head));
  return turn && { ...head, headDepth: turn.depth };
}

/** Undefined when the documents cannot be trusted. */
function isRemoved(core: State, id: number): Promise<boolean | undefined> {
  return unlessCorrupt(async () => core.findDoc(contextDoc(id))?.removed === true);
}

/** One pass over all turns. `unsure`: some record cannot be read, and its turn is not open. */
async function readOwnTurns(
  core: State,
  contexts: ReadonlySet<number>,
): Promise<{ turns: Map<number, OwnTurns>; unsure: boolean }> {
  const turns = new Map<number, OwnTurns>();
  let unsure = false;
  for await (const page of TURN_RECORDS.pages(core.files, core.tails.nextTurn)) {
    for (const { number: id, record: turn } of page) {
      if (turn === undefined) {
        unsure ||= !core.openTurns.has(id);
        continue;
      }
      const context = Number(turn.context);
      // A collected turn was no head any more.
      if (!contexts.has(context) || core.isCollected(id)) continue;
      turns.set(context, { first: turns.get(context)?.first ?? turn, newest: turn });
    }
  }
  return { turns, unsure };
}

// Rebuilds a damaged head from other sources. The turns of a context and the document of its moves tell its head. The
// index tells the rest, and was up to date when the damage was found.

export interface HeadSources {
  readonly id: number;
  /** The first turn id not in use. A source that names a later turn is wrong. */
  readonly nextTurn: number;
  /** The index entry of the context. */
  readonly seen: ContextPlace | undefined;
  /** The record in the table, when its checksum is right. */
  readonly slot: HeadRecord | undefined;
  /** Undefined for a context without turns of its own. */
  readonly turns: OwnTurns | undefined;
  /** Where the head was moved last. */
  readonly move: HeadMove | undefined;
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
  const told = headByRecords(newest, born.base, sources.move);
  // The index may know a turn that cannot be read any more.
  const isTold = seen !== undefined && (seen.head >= newest || seen.head === told);
  const known = isTold && seen.head < sources.nextTurn;
  if (!known && unsure) return undefined;
  const head = known ? seen.head : told;
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
function bornOf({
  nextTurn,
  seen,
  slot,
  turns,
}: HeadSources): Pick<ContextPlace, 'base' | 'createdAt'> | undefined {
  const places = [seen, slot && { base: Number(slot.base), createdAt: slot.createdAt }];
  const told = places.find((place) => place !== undefined && place.base < nextTurn);
  if (told !== undefined || turns === undefined) return told;
  return { base: Number(turns.first.parent), createdAt: turns.first.createdAt };
}
