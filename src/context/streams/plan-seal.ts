import type { TurnId } from '../../base/brand.ts';
import { hashBytes } from '../../base/hash.ts';
import type { Batch, TurnSeal } from '../../engine/batch.ts';

/** The document that keeps the reason why a turn was aborted. */
export function turnNoteName(turn: TurnId): string {
  return `turn-notes/${turn}.json`;
}

/** Returns the reason in a turn's note; undefined when the note holds none. */
export function readTurnNote(content: string): string | undefined {
  const note = JSON.parse(content) as { reason?: unknown };
  return typeof note.reason === 'string' ? note.reason : undefined;
}

/** Makes the text one blob and the turn the head. With an `abortReason` the turn is an aborted one. */
export function planSeal(turn: TurnId, bytes: Uint8Array, abortReason?: string): Batch {
  return {
    ...planEnd(turn, bytes, abortReason === undefined ? 'complete' : 'aborted'),
    ...(abortReason !== undefined && {
      docs: [{ name: turnNoteName(turn), content: JSON.stringify({ reason: abortReason }) }],
    }),
  };
}

/** Like `planSeal`, for a turn whose writer has gone. */
export function planInterrupted(turn: TurnId, bytes: Uint8Array): Batch {
  return planEnd(turn, bytes, 'interrupted');
}

/** The bytes were read before. If the turn has grown since, it is not sealed. */
function planEnd(turn: TurnId, bytes: Uint8Array, outcome: TurnSeal['outcome']): Batch {
  const payload = hashBytes(bytes);
  const size = bytes.length;
  return {
    blobs: [{ hash: payload, bytes }],
    seals: [{ turn, outcome, payload, size, expectedBytes: size }],
  };
}
