import type { State, StateWriter } from '../truth/state.ts';
import { isQuipuError } from '../../../base/errors.ts';
import {
  decodeHeadRecord,
  encodeHeadRecord,
  HEAD_RECORD_BYTES,
  type HeadRecord,
} from '../../../format/head-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import {
  decodeTurnRecord,
  TURN_RECORD_BYTES,
  type TurnRecord,
} from '../../../format/turn-record.ts';
import { HEADS_FILE } from './head-table.ts';
import { TURNS_FILE } from '../turns/turn-table.ts';
import { contextDoc } from '../docs/doc-log.ts';
import { lacksType } from '../open-turns/check-open-turns.ts';
import { headFrom } from './head-from.ts';

const PIECE_RECORDS = 512;

interface OwnTurns {
  readonly first: TurnRecord;
  readonly newest: TurnRecord;
}

/** Rebuilds the records of these contexts, as far as other sources know them. No commit runs meanwhile. */
export async function mendHeads(writer: StateWriter, contexts: ReadonlySet<number>): Promise<void> {
  if (contexts.size === 0) return;
  await writer.exclusively(async () => {
    const { core } = writer;
    const { turns, unsure } = await readOwnTurns(core, contexts);
    const heads: HeadRecord[] = [];
    for (const id of [...contexts].sort((a, b) => a - b)) {
      const head = await headOf(core, id, turns.get(id), unsure);
      if (head !== undefined) heads.push(head);
    }
    const writes = heads.map((head): JournalWrite => {
      const offset = Number(head.id) * HEAD_RECORD_BYTES;
      return { kind: 'bytes', path: HEADS_FILE, offset, data: encodeHeadRecord(head) };
    });
    if (writes.length === 0) return;
    await writer.storeWrites(writes, () => {
      for (const head of heads) core.absorbHead(head);
    });
  });
}

async function headOf(
  core: State,
  id: number,
  turns: OwnTurns | undefined,
  unsure: boolean,
): Promise<HeadRecord | undefined> {
  const offset = id * HEAD_RECORD_BYTES;
  const found = decodeHeadRecord(await core.files.read(HEADS_FILE, offset, HEAD_RECORD_BYTES));
  if (found !== undefined && (await lacksType(core, Number(found.openTurn)))) return undefined;
  const open = [...core.openTurns.values()].find(({ row }) => Number(row.context) === id)?.row;
  const seen = core.index.getContext(id);
  const removed = seen?.removed ?? isRemoved(core, id);
  if (removed === undefined) return undefined;
  const head = headFrom({
    id,
    nextTurn: core.tails.nextTurn,
    seen,
    slot: Number(found?.id) === id ? found : undefined,
    turns,
    unsure,
    removed,
    open: open && { turn: open.id, bytes: open.size },
  });
  if (head === undefined) return undefined;
  if (head.head === 0n) return { ...head, headDepth: 0 };
  const at = Number(head.head) * TURN_RECORD_BYTES;
  const turn = decodeTurnRecord(await core.files.read(TURNS_FILE, at, TURN_RECORD_BYTES));
  return turn?.id === head.head ? { ...head, headDepth: turn.depth } : undefined;
}

/** Undefined when the documents cannot be trusted. */
function isRemoved(core: State, id: number): boolean | undefined {
  try {
    return core.findDoc(contextDoc(id))?.removed === true;
  } catch (error) {
    if (isQuipuError(error, 'CORRUPT')) return undefined;
    throw error;
  }
}

/** One pass over all turns. `unsure`: some record cannot be read, and its turn is not open. */
async function readOwnTurns(
  core: State,
  contexts: ReadonlySet<number>,
): Promise<{ turns: Map<number, OwnTurns>; unsure: boolean }> {
  const turns = new Map<number, OwnTurns>();
  let unsure = false;
  const { nextTurn } = core.tails;
  for (let from = 1; from < nextTurn; from += PIECE_RECORDS) {
    const count = Math.min(PIECE_RECORDS, nextTurn - from);
    const start = from * TURN_RECORD_BYTES;
    const piece = await core.files.read(TURNS_FILE, start, count * TURN_RECORD_BYTES);
    for (let at = 0; at < count; at += 1) {
      const end = (at + 1) * TURN_RECORD_BYTES;
      const turn = decodeTurnRecord(piece.subarray(at * TURN_RECORD_BYTES, end));
      if (turn === undefined || Number(turn.id) !== from + at) {
        unsure ||= !core.openTurns.has(from + at);
        continue;
      }
      const id = Number(turn.context);
      if (!contexts.has(id)) continue;
      turns.set(id, { first: turns.get(id)?.first ?? turn, newest: turn });
    }
  }
  return { turns, unsure };
}
