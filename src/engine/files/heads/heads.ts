import { FILE_MAGIC, decodeFileHeader } from '../../../format/file-header.ts';
import { decodeHeadRecord, HEAD_RECORD_BYTES } from '../../../format/head-record.ts';
import { headByRecords } from '../../../format/head-moves.ts';
import { corrupt } from '../disk/io-error.ts';
import { contextDoc } from '../docs/doc-log.ts';
import { breathe, type CopyJob } from '../truth/copy.ts';
import { type Rebuild, rebuildRecords, recordsIn } from '../truth/rebuild.ts';
import type { Truth } from '../truth/truth.ts';
import { checkHeads } from './check-heads.ts';
import { HEADS_FILE, indexHead } from './head-table.ts';
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
  files: [
    { name: HEADS_FILE, header: { magic: FILE_MAGIC.heads, recordBytes: HEAD_RECORD_BYTES } },
  ],
  owns: () => false,
  lengths: ({ nextContext }) => [[HEADS_FILE, nextContext * HEAD_RECORD_BYTES]],
  /** The newest time handed out is in some head: an append, a seal or a creation moves one. */
  advance(tails, write) {
    if (write.kind !== 'bytes') return tails;
    let { timeMs } = tails;
    for (const record of recordsIn(write.data, HEAD_RECORD_BYTES)) {
      timeMs = Math.max(timeMs, decodeHeadRecord(record)?.updatedAt ?? 0);
    }
    const next = (write.offset + write.data.length) / HEAD_RECORD_BYTES;
    return { ...tails, timeMs, nextContext: Math.max(tails.nextContext, next) };
  },
  replay({ index }, write) {
    if (write.kind !== 'bytes') return;
    for (const record of recordsIn(write.data, HEAD_RECORD_BYTES)) {
      const head = decodeHeadRecord(record);
      if (head !== undefined) indexHead(index, head);
    }
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
  const { newest, moves, seen: lookUp } = rebuild;
  await rebuildRecords(rebuild, 'heads', {
    file: HEADS_FILE,
    bytes: HEAD_RECORD_BYTES,
    next: rebuild.tails.nextContext,
    take: (index, bytes, id) => {
      const own = newest[id] ?? 0;
      const head = decodeHeadRecord(bytes);
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
    },
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
