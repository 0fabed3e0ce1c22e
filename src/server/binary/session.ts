import type { Identity } from '../access.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import type { KnownTurns } from './known-turns.ts';
import type { LongTasks } from './long-tasks.ts';
import type { BinaryLimits } from './limits.ts';

/** What the handlers of messages may know of their connection. */
export interface Session {
  readonly identity: Identity;
  /** The client speaks what Quipu adds to the protocol. */
  readonly knowsQuipu: boolean;
  readonly limits: BinaryLimits;
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal;
  /** What goes on after its reply, by request id. */
  readonly tasks: LongTasks;
  readonly knownTurns: KnownTurns;
  /** Sends a frame that answers nothing. Resolves at once, CLOSED when the connection has ended. */
  push(type: number, reqId: Buffer, parts: Parts): void;
  /** Resolves when a push would not add to a pile. CLOSED when the connection has ended. */
  room(): Promise<void>;
  /** For errors that have nobody left to go to. */
  failed(error: unknown): void;
}
