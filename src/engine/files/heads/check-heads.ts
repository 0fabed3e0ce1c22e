import {
  decodeHeadRecord,
  HEAD_RECORD_BYTES,
  type HeadRecord,
} from '../../../format/head-record.ts';
import { headByRecords } from '../../../format/head-moves.ts';
import { HEADS_FILE, readMove } from './head-table.ts';
import { type Check, eachRecord, type TurnVerdicts } from '../truth/check.ts';
import { type Found, staleIndex } from '../truth/findings.ts';

/** Checks every head against its record, its turns and the index. */
export async function checkHeads(check: Check): Promise<void> {
  const { files, findings, writer, snapshot, turns: links } = check;
  const file = {
    file: HEADS_FILE,
    recordBytes: HEAD_RECORD_BYTES,
    next: snapshot.tails.nextContext,
    what: 'heads',
  };
  await eachRecord(check, file, async (bytes, id) => {
    findings.counts.contexts += 1;
    if (problemOf(check, links, bytes, id) === undefined) return;
    // The context may have moved between two looks; when no commit runs, everything must agree.
    await writer.exclusively(async () => {
      await refreshMove(check, id);
      const offset = id * HEAD_RECORD_BYTES;
      const again = await files.read(HEADS_FILE, offset, HEAD_RECORD_BYTES);
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
  const head = decodeHeadRecord(bytes);
  const wrong =
    head === undefined || Number(head.id) !== id
      ? `the head of context ${id} is damaged`
      : (wrongPlace(check, links, head) ?? wrongOpenTurn(check, head));
  if (wrong === undefined) return head && staleContext(check, links, head);
  const offset = id * HEAD_RECORD_BYTES;
  const place = { file: HEADS_FILE, offset, id: String(id), length: HEAD_RECORD_BYTES };
  if (check.core.index.getContext(id) !== undefined) {
    return { what: wrong, ...place, severity: 'stale', remedy: 'head' };
  }
  return { what: `${wrong}; ${restOf(links, id)}`, ...place, severity: 'lost', remedy: 'head' };
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
