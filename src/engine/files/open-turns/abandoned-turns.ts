import type { State, StateWriter } from '../truth/state.ts';
import type { TurnId } from '../../../base/brand.ts';
import { hashBytes } from '../../../base/hash.ts';
import { DELTA_HEADER_BYTES } from '../../../format/open-turn.ts';
import { TURN_RECORD_BYTES } from '../../../format/turn-record.ts';
import { unlessCorrupt } from '../disk/io-error.ts';
import { OPEN_FOLDER, openTurnNumber, readAbandoned, readOpenText } from './open-turn-file.ts';
import { TURNS_FILE } from '../turns/turn-table.ts';
import { listFolder } from '../disk/walk-folder.ts';

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

/** Only a turn that was begun and has no record is open: a record outweighs a file. */
export async function mayBeOpen({ files, tails }: State, id: number): Promise<boolean> {
  if (id >= tails.nextTurn) return false;
  const slot = await files.read(TURNS_FILE, id * TURN_RECORD_BYTES, TURN_RECORD_BYTES);
  return slot.every((byte) => byte === 0);
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
    const bytes = await readOpenText(core.files, turn);
    const payload = hashBytes(bytes);
    const seal = { turn: BigInt(id) as TurnId, outcome: 'interrupted', payload } as const;
    const seals = [{ ...seal, size: bytes.length }];
    // With a damaged head the turn stays open. Once the head is rebuilt, the next opening ends the turn.
    await unlessCorrupt(() => writer.commit({ blobs: [{ hash: payload, bytes }], seals }));
  }
}
