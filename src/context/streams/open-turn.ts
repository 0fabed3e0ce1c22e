import type { TurnId } from '../../base/brand.ts';
import type { Turn } from '../turns/turn.ts';

/** A turn being streamed. A handle whose write failed stays failed; `resume` gives a fresh one. */
export interface OpenTurn {
  readonly id: TurnId;
  /** The number of bytes that would survive a power cut. */
  readonly acknowledgedBytes: number;
  /** Resolves when the bytes are durable. Callers need not wait for each write: writes gather into few commits. */
  write(piece: string | Uint8Array): Promise<void>;
  /** Makes everything written the payload, and the turn the head of its context. */
  seal(): Promise<Turn>;
  /** Like `seal`, but the turn records that it is incomplete, with the reason. */
  abort(reason: string): Promise<Turn>;
}
