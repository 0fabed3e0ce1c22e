import { decodeFileHeader } from '../../../format/file-header.ts';
import {
  decodeHeadRecord,
  HEAD_RECORD_BYTES,
  type HeadRecord,
} from '../../../format/head-record.ts';
import { headByRecords } from '../../../format/head-moves.ts';
import { corrupt } from '../disk/io-error.ts';
import { contextDoc } from '../docs/doc-log.ts';
import type { Check, TurnVerdicts } from '../truth/check.ts';
import { breathe, type CopyJob } from '../truth/copy.ts';
import { type Found, staleIndex } from '../truth/findings.ts';
import type { Rebuild } from '../truth/rebuild.ts';
import type { Truth } from '../truth/truth.ts';
import { HEAD_RECORDS, HEADS_FILE, indexHead, readMove } from './head-table.ts';
import { mendHeads } from './mend-heads.ts';

// The head of each context: its newest turn, where it began, and its open turn.        docs/format/heads.md
// Invariants
// - The slot of context n is at n times the record size. It is the only record that changes in place, always
//   through the journal.
// - A head is the newest turn of its context, or where a document says that it was moved since. The turns, the
//   documents and the index know it, too, so a damaged head is mended.

/** The slots are read at once on the calling thread: a slot is never seen half written. */
const PIECE_SLOTS = 1024;

const PIECES_PER_BREATH = 16;

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
  copy: { noted: copyHeads },
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

// Slots of heads.tbl change in place, and nothing records when: a removal does not move `updatedAt`. So the two
// tables are compared, which takes less than a tenth of a second for a million contexts.

/** Copies every slot that the copy lacks. */
async function copyHeads(job: CopyJob): Promise<void> {
  const { from, into, progress, trusted } = job;
  const next = job.tails.nextContext;
  for (let at = 0; at < next; at += PIECE_SLOTS) {
    const count = Math.min(PIECE_SLOTS, next - at);
    const [offset, length] = [at * HEAD_RECORD_BYTES, count * HEAD_RECORD_BYTES];
    const ours = Buffer.from(await from.read(HEADS_FILE, offset, length));
    if (ours.length < length) {
      throw corrupt(HEADS_FILE, offset + ours.length, 'the file is too short');
    }
    const theirs = Buffer.from(await into.files.read(HEADS_FILE, offset, trusted ? length : 0));
    for (const [start, end] of changedSlots(ours, theirs)) {
      for (let slot = start; slot < end; slot += HEAD_RECORD_BYTES) {
        assertSlot(
          ours.subarray(slot, slot + HEAD_RECORD_BYTES),
          (offset + slot) / HEAD_RECORD_BYTES,
        );
      }
      await into.put(HEADS_FILE, offset + start, ours.subarray(start, end));
    }
    progress?.(at + count, next, HEADS_FILE);
    if ((at / PIECE_SLOTS) % PIECES_PER_BREATH === 0) await breathe();
  }
}

/** Byte ranges of neighbouring slots that differ. */
function changedSlots(ours: Buffer, theirs: Buffer): (readonly [number, number])[] {
  if (ours.equals(theirs)) return [];
  const runs: [number, number][] = [];
  for (let start = 0; start < ours.length; start += HEAD_RECORD_BYTES) {
    const end = start + HEAD_RECORD_BYTES;
    if (ours.subarray(start, end).equals(theirs.subarray(start, end))) continue;
    const last = runs.at(-1);
    if (last?.[1] === start) last[1] = end;
    else runs.push([start, end]);
  }
  return runs;
}

/** Slot 0 is the header of the file. */
function assertSlot(slot: Uint8Array, id: number): void {
  const intact =
    id === 0 ? decodeFileHeader(slot) !== undefined : Number(decodeHeadRecord(slot)?.id) === id;
  if (intact) return;
  throw corrupt(HEADS_FILE, id * HEAD_RECORD_BYTES, `the head of context ${id} is damaged`);
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
