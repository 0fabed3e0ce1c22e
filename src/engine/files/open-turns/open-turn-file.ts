import { decodeDelta, DELTA_HEADER_BYTES } from '../../../format/open-turn.ts';
import {
  decodeTurnRecord,
  TURN_RECORD_BYTES,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import { corrupt } from '../disk/io-error.ts';
import type { OpenTurn } from '../../plan/draft.ts';
import type { StoreFiles } from '../disk/store-files.ts';

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
