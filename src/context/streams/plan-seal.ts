import type { TurnId } from '../../base/brand.ts';
import { hashBytes } from '../../base/hash.ts';
import type { Batch } from '../../engine/batch.ts';
import { parseStored } from '../../engine/json-text.ts';

/** The document that keeps the reason why a turn was aborted. */
export function turnNoteName(turn: TurnId): string {
  return `turn-notes/${turn}.json`;
}

/** Returns the reason in the note of a turn, which has this name; undefined when the note holds none. */
export function readTurnNote(name: string, content: string): string | undefined {
  const { reason } = parseStored(name, content);
  return typeof reason === 'string' ? reason : undefined;
}

/** Makes the text one blob and the turn the head. The bytes were read before: if it has grown since, it is not sealed. */
export function planSeal(turn: TurnId, bytes: Uint8Array): Batch {
  const payload = hashBytes(bytes);
  const size = bytes.length;
  return {
    blobs: [{ hash: payload, bytes }],
    seals: [{ turn, outcome: 'complete', payload, size, expectedBytes: size }],
  };
}

/** Ends the turn with all that it holds then. Only the first who ends a turn says why. */
export function planAbort(
  turn: TurnId,
  reason: string,
  given: { expectedBytes?: number } = {},
): Batch {
  const content = JSON.stringify({ reason });
  return {
    seals: [{ turn, outcome: 'aborted', ...given }],
    docs: [{ name: turnNoteName(turn), content, expectedVersion: 0 }],
  };
}
