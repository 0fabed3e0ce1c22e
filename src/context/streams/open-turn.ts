import type { TurnId } from '../../base/brand.ts';
import type { Turn } from '../turns/turn.ts';

/** A turn being streamed. A handle whose write failed stays failed; `resume` gives a fresh one. */
export interface OpenTurn {
  readonly id: TurnId;
  /** Bytes that would survive a power cut. */
  readonly acknowledgedBytes: number;
  /** Resolves when the bytes are durable. Writes need not be awaited one by one: they gather into few commits. */
  write(piece: string | Uint8Array): Promise<void>;
  /** Everything written becomes the payload, and the turn the head of its context. */
  seal(): Promise<Turn>;
  /** Like `seal`, but the turn says that it is incomplete, and why. */
  abort(reason: string): Promise<Turn>;
}
