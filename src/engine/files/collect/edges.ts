import { isCollected } from '../../../format/collected-map.ts';
import { decodePatchRecord, PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import { decodeTurnRecord, TURN_RECORD_BYTES } from '../../../format/turn-record.ts';
import type { PatchEdge, TurnEdge } from '../../upkeep.ts';
import type { Core } from '../core.ts';
import { corrupt } from '../disk/io-error.ts';
import { PATCHES_FILE, TURNS_FILE } from '../names.ts';

// Reads which turn or patch uses which blob, straight through the files in large pieces.

/** Small enough that a page is decoded in a millisecond or two. */
const PAGE_RECORDS = 1024;

/** Yields sealed turns below `next` that are not collected, newest first. Skips `open` turns. */
export async function* readTurnEdges(
  { files, collected }: Core,
  next: number,
  open: { has(id: number): boolean },
): AsyncGenerator<readonly TurnEdge[]> {
  for (let end = next; end > 1; end -= PAGE_RECORDS) {
    const first = Math.max(1, end - PAGE_RECORDS);
    const length = (end - first) * TURN_RECORD_BYTES;
    const bytes = await files.read(TURNS_FILE, first * TURN_RECORD_BYTES, length);
    const page: TurnEdge[] = [];
    for (let id = end - 1; id >= first; id -= 1) {
      if (open.has(id) || isCollected(collected, id)) continue;
      page.push(turnAt(bytes, (id - first) * TURN_RECORD_BYTES, id));
    }
    yield page;
  }
}

function turnAt(bytes: Uint8Array, at: number, id: number): TurnEdge {
  const turn = decodeTurnRecord(bytes.subarray(at, at + TURN_RECORD_BYTES));
  if (turn?.payload === undefined || turn.id !== BigInt(id)) {
    throw corrupt(TURNS_FILE, id * TURN_RECORD_BYTES, `the record of turn ${id} is damaged`);
  }
  return { id: turn.id, parent: turn.parent, payload: turn.payload };
}

/** Yields patches and file-system roots below `next`, newest first. Skips a root that another one replaced. */
export async function* readPatchEdges(
  { files, tails }: Core,
  next: number,
): AsyncGenerator<readonly PatchEdge[]> {
  const rooted = new Uint8Array(Math.ceil(tails.nextTurn / 8));
  for (let end = next; end > 1; end -= PAGE_RECORDS) {
    const first = Math.max(1, end - PAGE_RECORDS);
    const length = (end - first) * PATCH_RECORD_BYTES;
    const bytes = await files.read(PATCHES_FILE, first * PATCH_RECORD_BYTES, length);
    const page: PatchEdge[] = [];
    for (let seq = end - 1; seq >= first; seq -= 1) {
      const edge = patchAt(bytes, seq - first, seq);
      if (!edge.fsRoot || isFirst(rooted, Number(edge.turn))) page.push(edge);
    }
    yield page;
  }
}

/** Sets the bit of a turn. Returns false when it was already set. */
function isFirst(bits: Uint8Array, turn: number): boolean {
  const [at, bit] = [Math.floor(turn / 8), 1 << (turn % 8)];
  const before = bits[at] ?? 0;
  bits[at] = before | bit;
  return (before & bit) === 0;
}

function patchAt(bytes: Uint8Array, at: number, seq: number): PatchEdge {
  const offset = at * PATCH_RECORD_BYTES;
  const patch = decodePatchRecord(bytes.subarray(offset, offset + PATCH_RECORD_BYTES));
  if (patch?.seq === seq) {
    return { turn: patch.turn, payload: patch.payload, fsRoot: patch.fsRoot };
  }
  throw corrupt(PATCHES_FILE, seq * PATCH_RECORD_BYTES, `the record of patch ${seq} is damaged`);
}
