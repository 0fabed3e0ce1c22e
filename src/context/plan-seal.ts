import type { TurnId } from '../base/brand.ts';
import { hashBytes } from '../base/hash.ts';
import type { Batch } from '../engine/batch.ts';

/** The document that keeps why a turn was aborted. */
export function turnNoteName(turn: TurnId): string {
  return `turn-notes/${turn}.json`;
}

/** The reason in a turn's note; undefined when the note holds none. */
export function readTurnNote(content: string): string | undefined {
  const note = JSON.parse(content) as { reason?: unknown };
  return typeof note.reason === 'string' ? note.reason : undefined;
}

/** The text becomes one blob and the turn the head. An `abortReason` makes it an aborted turn. */
export function planSeal(turn: TurnId, bytes: Uint8Array, abortReason?: string): Batch {
  const hash = hashBytes(bytes);
  const size = bytes.length;
  const outcome = abortReason === undefined ? 'complete' : 'aborted';
  return {
    blobs: [{ hash, bytes }],
    seals: [{ turn, outcome, payload: hash, size }],
    ...(abortReason !== undefined && {
      docs: [{ name: turnNoteName(turn), content: JSON.stringify({ reason: abortReason }) }],
    }),
  };
}
