import { HEAD_RECORD_BYTES, type HeadRecord } from '../../../format/head-record.ts';
import { headByRecords } from '../../../format/head-moves.ts';
import { contextDoc } from '../docs/doc-log.ts';
import { type Check, type Found, staleIndex, type TurnVerdicts } from '../truth/check.ts';
import type { Rebuild, Truth } from '../truth/truth.ts';
import { HEAD_RECORDS, HEADS_FILE, indexHead, readMove } from './head-table.ts';
import { mendHeads } from './mend-heads.ts';

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
