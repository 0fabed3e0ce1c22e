import { decodeHeadRecord, HEAD_RECORD_BYTES } from '../../../format/head-record.ts';
import { decodeFileHeader } from '../../../format/file-header.ts';
import { corrupt } from '../disk/io-error.ts';
import { HEADS_FILE } from './head-table.ts';
import { breathe, type CopyJob } from '../truth/copy.ts';

// Slots of heads.tbl change in place, and nothing records when: a removal does not move `updatedAt`. So the two
// tables are compared, which takes less than a tenth of a second for a million contexts.

/** The slots are read at once on the calling thread: a slot is never seen half written. */
const PIECE_SLOTS = 1024;
const PIECES_PER_BREATH = 16;

/** Copies every slot that the copy lacks. */
export async function copyHeads(job: CopyJob): Promise<void> {
  if (job.phase !== 'noted') return;
  const { from, into, progress, knownHeads: known } = job;
  const next = job.tails.nextContext;
  for (let at = 0; at < next; at += PIECE_SLOTS) {
    const count = Math.min(PIECE_SLOTS, next - at);
    const [offset, length] = [at * HEAD_RECORD_BYTES, count * HEAD_RECORD_BYTES];
    const ours = Buffer.from(await from.read(HEADS_FILE, offset, length));
    if (ours.length < length) {
      throw corrupt(HEADS_FILE, offset + ours.length, 'the file is too short');
    }
    const theirs = at < known ? await into.files.read(HEADS_FILE, offset, length) : undefined;
    if (theirs === undefined || !ours.equals(theirs)) {
      for (const [start, end] of runsToCopy({ ours, theirs, at, known })) {
        await into.put(HEADS_FILE, offset + start, ours.subarray(start, end));
      }
    }
    progress?.(at + count, next, HEADS_FILE);
    if ((at / PIECE_SLOTS) % PIECES_PER_BREATH === 0) await breathe();
  }
}

interface Compared {
  readonly ours: Uint8Array;
  readonly theirs: Uint8Array | undefined;
  readonly at: number;
  readonly known: number;
}

/** Byte ranges of neighbouring slots that differ; each of them must be intact. */
function runsToCopy({ ours, theirs, at, known }: Compared): (readonly [number, number])[] {
  const runs: [number, number][] = [];
  for (let index = 0; index * HEAD_RECORD_BYTES < ours.length; index += 1) {
    const slot = slotOf(ours, index);
    const same = theirs !== undefined && at + index < known && equal(slot, slotOf(theirs, index));
    if (same) continue;
    assertSlot(slot, at + index);
    const start = index * HEAD_RECORD_BYTES;
    const last = runs.at(-1);
    if (last?.[1] === start) last[1] = start + HEAD_RECORD_BYTES;
    else runs.push([start, start + HEAD_RECORD_BYTES]);
  }
  return runs;
}

function slotOf(bytes: Uint8Array, index: number): Uint8Array {
  return bytes.subarray(index * HEAD_RECORD_BYTES, (index + 1) * HEAD_RECORD_BYTES);
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/** Slot 0 is the header of the file. */
function assertSlot(slot: Uint8Array, id: number): void {
  const intact =
    id === 0 ? decodeFileHeader(slot) !== undefined : Number(decodeHeadRecord(slot)?.id) === id;
  if (intact) return;
  throw corrupt(HEADS_FILE, id * HEAD_RECORD_BYTES, `the head of context ${id} is damaged`);
}
