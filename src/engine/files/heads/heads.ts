import type { ContextId, TurnId } from '../../../base/brand.ts';
import { unlessCorrupt } from '../disk/io-error.ts';
import { contextDoc } from '../docs/doc-log.ts';
import { HEAD_RECORDS, HEADS_FILE, indexHead, readMove } from './head-table.ts';
import type { ContextPlace } from '../index/shelf.ts';
import { lacksType } from '../open-turns/open-turns.ts';
import { type Check, type Found, staleIndex, type TurnVerdicts } from '../truth/check.ts';
import type { State, StateWriter } from '../truth/state.ts';
import type { Rebuild, Truth } from '../truth/truth.ts';
import { TURN_RECORDS } from '../turns/turn-table.ts';
import { headByRecords, type HeadMove } from '../../../format/head-moves.ts';
import {
  decodeHeadRecord,
  encodeHeadRecord,
  HEAD_RECORD_BYTES,
  type HeadRecord,
} from '../../../format/head-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { TurnRecord } from '../../../format/turn-record.ts';

// The head of each context: its newest turn, where it began, and its open turn.        docs/format/heads.md
// Invariants
// - The slot of context n is at n times the record size. It is the only record that changes in place, always
//   through the journal.
// - A head is the newest turn of its context, or where a document says that it was moved since. The turns, the
//   documents and the index know it, too, so a damaged head is mended.

export const HEADS: Truth = {
  name: 'heads',
  folders: [],
  files: [HEAD_RECORDS.own],
  owns: () => false,
  lengths: (tails) => [HEAD_RECORDS.lengthBy(tails)],
  /** The newest time handed out is in some head: an append, a seal or a creation moves one. */
  advance(tails, write) {
    let { timeMs } = tails;
    for (const { updatedAt } of HEAD_RECORDS.inWrite(write)) timeMs = Math.max(timeMs, updatedAt);
    return { ...HEAD_RECORDS.advance(tails, write), timeMs };
  },
  replay({ index }, write) {
    for (const head of HEAD_RECORDS.inWrite(write)) indexHead(index, head);
  },
  rebuild: rebuildHeads,
  check: checkHeads,
  mend: {
    after: 'nothing',
    run: ({ writer, found }) => {
      const damaged = found.filter(({ remedy }) => remedy === 'head');
      return mendHeads(writer, new Set(damaged.map(({ id }) => Number(id))));
    },
  },
  // Nothing records when a slot changes: a removal does not move `updatedAt`. So all slots are compared, which takes
  // a tenth of a second for a million contexts.
  copy: { when: 'noted', run: (job) => HEAD_RECORDS.copy(job, { first: 1 }) },
};

/**
 * The turns tell the real head of a context: a slot can be intact and old. So turns are indexed before, and
 * documents, which tell what was removed.
 */
async function rebuildHeads(rebuild: Rebuild): Promise<void> {
  const { index, newest, moves, seen: lookUp } = rebuild;
  await HEAD_RECORDS.rebuild(rebuild, 'heads', (head, id) => {
    const own = newest[id] ?? 0;
    if (head !== undefined && Number(head.id) === id) {
      const at = headByRecords(own, Number(head.base), moves.get(id));
      indexHead(index, { ...head, head: BigInt(at) as typeof head.head });
      return true;
    }
    // The slot cannot be read, and stays damaged. A repair can rebuild it from this entry.
    const seen = lookUp?.(id);
    if (seen !== undefined) {
      index.setContext(id, { ...seen, head: headByRecords(own, seen.head, moves.get(id)) });
    }
    return false;
  });
  checkRemovals(rebuild);
}

/** Removing a context also removes its document. The two must agree, otherwise one of them is an old version. */
function checkRemovals({ index, damage, tails }: Rebuild): void {
  if (damage.places.some(({ area }) => area === 'docs')) return;
  for (let id = 1; id < tails.nextContext; id += 1) {
    const context = index.getContext(id);
    const removed = index.findDoc(contextDoc(id))?.removed === true;
    if (context === undefined || context.removed === removed) continue;
    index.setContext(id, { ...context, removed });
    const what = `context ${id} ${removed ? 'was' : 'was not'} removed`;
    damage.add({ area: 'heads', file: HEADS_FILE, offset: id * HEAD_RECORD_BYTES, what });
  }
}

/** Checks every head against its record, its turns and the index. */
async function checkHeads(check: Check): Promise<void> {
  const { files, findings, writer, turns: links } = check;
  await HEAD_RECORDS.check(check, 'heads', async (bytes, id) => {
    findings.counts.contexts += 1;
    if (problemOf(check, links, bytes, id) === undefined) return;
    // The context may have moved between two looks; when no commit runs, everything must agree.
    await writer.exclusively(async () => {
      await refreshMove(check, id);
      const again = await HEAD_RECORDS.readBytes(files, id);
      const problem = problemOf(check, links, again, id);
      if (problem !== undefined) findings.add(problem);
    });
  });
}

/** The head may have been moved since the documents were read. Damaged documents are a separate problem. */
async function refreshMove({ core, moves }: Check, id: number): Promise<void> {
  const move = await readMove(core, id);
  if (move === undefined) moves.delete(id);
  else moves.set(id, move);
}

function problemOf(
  check: Check,
  links: TurnVerdicts,
  bytes: Uint8Array,
  id: number,
): Found | undefined {
  const head = HEAD_RECORDS.decode(bytes, id);
  const wrong =
    head === undefined
      ? `the head of context ${id} is damaged`
      : (wrongPlace(check, links, head) ?? wrongOpenTurn(check, head));
  if (wrong === undefined) return head && staleContext(check, links, head);
  if (check.core.index.getContext(id) !== undefined) {
    return { ...HEAD_RECORDS.problem(id, wrong), severity: 'stale', remedy: 'head' };
  }
  return { ...HEAD_RECORDS.problem(id, `${wrong}; ${restOf(links, id)}`), remedy: 'head' };
}

/** Says what a repair can and cannot recover when the index does not know the context. */
function restOf(links: TurnVerdicts, id: number): string {
  return links.newestIn(id) === 0
    ? 'it has no turn of its own to make it again from'
    : 'its turns can give it back, but not when it was made, nor what it was forked from: its first turn stands for both';
}

function wrongPlace(
  { core, snapshot, moves }: Check,
  links: TurnVerdicts,
  head: HeadRecord,
): string | undefined {
  const id = Number(head.id);
  const at = Number(head.head);
  const { nextTurn } = core.tails;
  if (Number(head.base) >= nextTurn) return `context ${id} is based on a turn that never was`;
  if (at >= nextTurn) return `context ${id} is at a turn that never was`;
  if (at === 0 && head.headDepth !== 0) return `the depth of context ${id} is wrong`;
  // The head moved after the snapshot, to a turn that the links do not cover.
  if (at >= snapshot.tails.nextTurn || snapshot.openTurns.has(at)) return undefined;
  if (at !== 0 && !links.isIntact(at)) return undefined;
  if (links.depthOf(at) !== head.headDepth) return `the depth of context ${id} is wrong`;
  // A turn that was open when its context was removed is sealed without moving the head.
  if (head.removed) return undefined;
  const expected = headByRecords(links.newestIn(id), Number(head.base), moves.get(id));
  return at === expected ? undefined : `context ${id} is not at the turn it got to`;
}

function wrongOpenTurn({ core }: Check, head: HeadRecord): string | undefined {
  if (head.removed) return undefined;
  const id = Number(head.id);
  if (head.openTurn === 0n) {
    return head.openBytes === 0 ? undefined : `context ${id} has bytes of no open turn`;
  }
  const open = core.openTurns.get(Number(head.openTurn));
  if (open === undefined || open.row.context !== head.id) {
    return `context ${id} names an open turn that is not open`;
  }
  return open.row.size === head.openBytes
    ? undefined
    : `context ${id} has the wrong length of its open turn`;
}

function staleContext(
  { core, snapshot }: Check,
  links: TurnVerdicts,
  head: HeadRecord,
): Found | undefined {
  const id = Number(head.id);
  const at = Number(head.head);
  const known = core.index.getContext(id);
  // A rebuilt index knows a context by its turns, and a damaged turn does not say where it belongs.
  const unsure = at !== 0 && at < snapshot.tails.nextTurn && !links.isIntact(at);
  const sameHead = head.removed || known?.head === at || (unsure && !snapshot.openTurns.has(at));
  const same = known?.removed === head.removed && known.updatedAt === head.updatedAt && sameHead;
  return same ? undefined : staleIndex(`the index is wrong about context ${id}`, String(id));
}

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
