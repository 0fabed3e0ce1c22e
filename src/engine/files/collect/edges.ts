import { isCollected } from '../../../format/collected-map.ts';
import { decodePatchRecord, PATCH_RECORD_BYTES } from '../../../format/patch-record.ts';
import { decodeTurnRecord, TURN_RECORD_BYTES } from '../../../format/turn-record.ts';
import type { PatchEdge, TurnEdge } from '../../upkeep.ts';
import type { Core } from '../core.ts';
import { corrupt } from '../io-error.ts';
import { PATCHES_FILE, TURNS_FILE } from '../names.ts';

// Which turn or patch uses which blob, read straight through the files in large pieces.

const PAGE_RECORDS = 4096;

/** Sealed turns below `next` that are not collected, newest first. `open` ones are passed over. */
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

export async function* readPatchEdges(
  { files }: Core,
  next: number,
): AsyncGenerator<readonly PatchEdge[]> {
  for (let first = 1; first < next; first += PAGE_RECORDS) {
    const count = Math.min(PAGE_RECORDS, next - first);
    const length = count * PATCH_RECORD_BYTES;
    const bytes = await files.read(PATCHES_FILE, first * PATCH_RECORD_BYTES, length);
    yield Array.from({ length: count }, (_, at) => patchAt(bytes, at, first + at));
  }
}

function patchAt(bytes: Uint8Array, at: number, seq: number): PatchEdge {
  const offset = at * PATCH_RECORD_BYTES;
  const patch = decodePatchRecord(bytes.subarray(offset, offset + PATCH_RECORD_BYTES));
  if (patch?.seq === seq) return { turn: patch.turn, payload: patch.payload };
  throw corrupt(PATCHES_FILE, seq * PATCH_RECORD_BYTES, `the record of patch ${seq} is damaged`);
}
