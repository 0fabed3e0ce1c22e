import type { TurnId } from '../../../base/brand.ts';
import { isQuipuError } from '../../../base/errors.ts';
import { hashBytes } from '../../../base/hash.ts';
import { DELTA_HEADER_BYTES } from '../../../format/open-turn.ts';
import { TURN_RECORD_BYTES } from '../../../format/turn-record.ts';
import type { Core } from '../core.ts';
import { corrupt } from '../io-error.ts';
import { OPEN_FOLDER, openTurnFile } from '../names.ts';
import { openFileBytes, readAbandoned, readOpenText } from '../open-turn-file.ts';
import type { Writer } from '../writer.ts';

// Turns that were open when the store was last in use. Nobody can go on writing to them: they are
// sealed as interrupted, with every byte that was acknowledged.

/** Makes the open turns known, so that their empty slots are not taken for damage. */
export async function findAbandoned(core: Core): Promise<void> {
  for (const name of await core.files.io.list(core.files.pathOf(OPEN_FOLDER))) {
    const { record, fileBytes, text } = await readAbandoned(core.files, Number(name));
    const stored = core.turns.toStored({ ...record, size: text.length });
    if (stored === undefined)
      throw corrupt(openTurnFile(Number(name)), 0, 'its type is not declared');
    const { row, jump, sideJump } = stored;
    const deltas = (fileBytes - TURN_RECORD_BYTES - text.length) / DELTA_HEADER_BYTES;
    core.openTurns.set(Number(name), { row, jump, sideJump, deltas });
  }
}

export async function sealAbandoned(writer: Writer): Promise<void> {
  const { core } = writer;
  for (const [id, turn] of core.openTurns) {
    const head = await headOf(core, Number(turn.row.context));
    if (head?.openTurn === turn.row.id && head.openBytes !== turn.row.size) {
      throw corrupt(
        openTurnFile(id),
        openFileBytes(turn),
        `the open turn should hold ${head.openBytes} bytes`,
      );
    }
    const bytes = await readOpenText(core.files, turn);
    const payload = hashBytes(bytes);
    await writer.commit({
      blobs: [{ hash: payload, bytes }],
      seals: [{ turn: BigInt(id) as TurnId, outcome: 'interrupted', payload, size: bytes.length }],
    });
  }
}

/** A damaged head is reported to whoever reads it; the turn is sealed all the same. */
async function headOf(core: Core, id: number): ReturnType<Core['getHead']> {
  try {
    return await core.getHead(id);
  } catch (error) {
    if (isQuipuError(error, 'CORRUPT')) return undefined;
    throw error;
  }
}
