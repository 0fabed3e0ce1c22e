import { ByteReader } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import type { Parts } from '../byte-writer.ts';
import {
  EXT_ROW_BYTES,
  TURN_REC_BYTES_MIN,
  readExtRow,
  readTurnRec,
  writeExtRow,
  writeTurnRec,
} from './turn-rec.ts';
import type { ExtRow, TurnRec } from './turn-rec.ts';

// PAGE: u32 count, count × TURN_REC, TAIL.
// TAIL: u64 next_cursor, u64 head, u32 head_depth, [u32 row_size, count × EXT row].
// The tail is never left out: the Go client of cxdb takes a buffer that ends with an empty payload for
// a lost connection.

export interface Page {
  /** Oldest first. */
  readonly turns: readonly TurnRec[];
  /** The oldest turn of the page if it has a parent, else 0: nothing is older. */
  readonly cursor: bigint;
  readonly head: bigint;
  readonly headDepth: number;
  /** One row for each turn, if the client asked for rows. */
  readonly ext: readonly ExtRow[] | undefined;
}

export function encodePage(page: Page): Parts {
  const writer = new ByteWriter().u32(page.turns.length);
  for (const turn of page.turns) writeTurnRec(writer, turn);
  writer.u64(page.cursor).u64(page.head).u32(page.headDepth);
  if (page.ext !== undefined) {
    writer.u32(EXT_ROW_BYTES);
    for (const row of page.ext) writeExtRow(writer, row);
  }
  return writer.parts();
}

export function decodePage(payload: Uint8Array): Page {
  const reader = new ByteReader(payload, 'PAGE');
  const count = reader.items32('turn', TURN_REC_BYTES_MIN);
  const turns: TurnRec[] = [];
  for (let index = 0; index < count; index += 1) turns.push(readTurnRec(reader));
  const cursor = reader.u64('next_cursor_turn_id');
  const head = reader.u64('head_turn_id');
  const headDepth = reader.u32('head_depth');
  const ext = reader.remaining === 0 ? undefined : readExt(reader, count);
  return { turns, cursor, head, headDepth, ext };
}

/** Rows may become longer; fields that this reader does not know are at their end. */
function readExt(reader: ByteReader, count: number): ExtRow[] {
  const rowBytes = reader.u32('row_size');
  if (rowBytes < EXT_ROW_BYTES) throw reader.wrong('row_size', `is at least ${EXT_ROW_BYTES}`);
  const rows: ExtRow[] = [];
  for (let index = 0; index < count; index += 1) {
    rows.push(readExtRow(new ByteReader(reader.bytes(rowBytes, 'ext'), 'EXT')));
  }
  return rows;
}
