import type { TurnId } from '../../../base/brand.ts';
import { DELTA_HEADER_BYTES, decodeDelta } from '../../../format/open-turn.ts';
import {
  decodeTurnRecord,
  TURN_RECORD_BYTES,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import type { OpenTurn } from '../../plan/draft.ts';
import { corrupt, unlessCorrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { listFolder } from '../disk/folders.ts';
import type { State, StateWriter } from '../truth/state.ts';
import { readSlot } from '../turns/turn-table.ts';

export const OPEN_FOLDER = 'turns/open';

export function openTurnFile(turn: number): string {
  return `${OPEN_FOLDER}/${turn}`;
}

/** The turn of an open-turn file; undefined for any other name. */
export function openTurnNumber(name: string): number | undefined {
  const match = /^turns\/open\/(\d+)$/.exec(name);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** The length of the turn's file: the record, and each piece of text with its header. */
export function openFileBytes({ row, deltas }: OpenTurn): number {
  return TURN_RECORD_BYTES + deltas * DELTA_HEADER_BYTES + row.size;
}

/** All bytes acknowledged for an open turn. */
export async function readOpenText(files: StoreFiles, turn: OpenTurn): Promise<Uint8Array> {
  const name = openTurnFile(Number(turn.row.id));
  const bytes = await files.read(name, 0, openFileBytes(turn));
  const text = joinDeltas(name, bytes);
  if (text.length === turn.row.size) return text;
  throw corrupt(name, bytes.length, `the open turn should hold ${turn.row.size} bytes`);
}

/** An open turn as a crash left it: its record, and its text, checked against the length in the head. */
export async function readAbandoned(
  files: StoreFiles,
  id: number,
): Promise<{ record: TurnRecord; fileBytes: number; text: Uint8Array }> {
  const name = openTurnFile(id);
  const fileBytes = await files.size(name);
  const bytes = await files.read(name, 0, fileBytes);
  const record = decodeTurnRecord(bytes.subarray(0, TURN_RECORD_BYTES));
  if (record === undefined || Number(record.id) !== id) {
    throw corrupt(name, 0, `the record of open turn ${id} is damaged`);
  }
  return { record, fileBytes, text: joinDeltas(name, bytes) };
}

function joinDeltas(name: string, bytes: Uint8Array): Uint8Array {
  const pieces: Uint8Array[] = [];
  let length = 0;
  let at = TURN_RECORD_BYTES;
  while (at < bytes.length) {
    const delta = decodeDelta(bytes, at);
    if (delta === undefined || delta.offset !== length) {
      throw corrupt(name, at, 'the text of the open turn is damaged');
    }
    pieces.push(delta.data);
    length += delta.data.length;
    at += DELTA_HEADER_BYTES + delta.data.length;
  }
  return Buffer.concat(pieces);
}

// Turns that were open when the store was last in use. No one can go on writing to them. They are sealed as
// interrupted, with every acknowledged byte.

/**
 * Makes the open turns known, so that their empty slots are not taken for damage. Skips a file that is damaged, or
 * that belongs to no turn without a record. A check, or a read of its turn, reports such a file.
 */
export async function findAbandoned(core: State): Promise<void> {
  for (const name of await listFolder(core.files, OPEN_FOLDER)) {
    const id = openTurnNumber(`${OPEN_FOLDER}/${name}`);
    if (id === undefined || !(await mayBeOpen(core, id))) continue;
    const found = await unlessCorrupt(() => readAbandoned(core.files, id));
    const stored = found && core.turns.toStored({ ...found.record, size: found.text.length });
    if (found === undefined || stored === undefined) continue;
    const { row, jump, sideJump } = stored;
    const textBytes = found.fileBytes - TURN_RECORD_BYTES;
    const deltas = (textBytes - found.text.length) / DELTA_HEADER_BYTES;
    core.openTurns.set(id, { row, jump, sideJump, deltas });
  }
}

/**
 * Only a turn that was begun and has no record is open: a record outweighs a file. A damaged slot is no record. There
 * the head of the context decides, so that damage to an empty slot does not cost the text of an open turn.
 */
export async function mayBeOpen(core: State, id: number): Promise<boolean> {
  if (id >= core.tails.nextTurn) return false;
  const slot = await readSlot(core.files, id);
  if (slot !== 'damaged') return slot === 'empty';
  const found = await unlessCorrupt(() => readAbandoned(core.files, id));
  if (found === undefined) return false;
  return (await core.openTurnOf(Number(found.record.context))) === BigInt(id);
}

export async function sealAbandoned(writer: StateWriter): Promise<void> {
  const { core } = writer;
  for (const [id, turn] of core.openTurns) {
    const head = await unlessCorrupt(() => core.getHead(Number(turn.row.context)));
    if (head?.openTurn === turn.row.id && head.openBytes !== turn.row.size) {
      // Some of the turn's text is gone. The rest must not be taken for the whole.
      core.openTurns.delete(id);
      continue;
    }
    const seal = { turn: BigInt(id) as TurnId, outcome: 'interrupted' } as const;
    // With a damaged head the turn stays open. Once the head is rebuilt, the next opening ends the turn.
    await unlessCorrupt(() => writer.commit({ seals: [seal] }));
  }
}
