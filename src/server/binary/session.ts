import type { Identity } from '../access.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import type { KnownTurns } from './known-turns.ts';
import type { LongTasks } from './long-tasks.ts';
import type { BinaryLimits } from './limits.ts';

/** The view that message handlers have of their connection. */
export interface Session {
  readonly identity: Identity;
  /** True when the client speaks Quipu's extensions of the protocol. */
  readonly knowsQuipu: boolean;
  readonly limits: BinaryLimits;
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal;
  /** The tasks that go on after their reply, by request id. */
  readonly tasks: LongTasks;
  readonly knownTurns: KnownTurns;
  /** Sends a frame that answers no request. Returns at once. CLOSED when the connection has ended. */
  push(type: number, reqId: Buffer, parts: Parts): void;
  /** Resolves when the outlet has room for another push. CLOSED when the connection has ended. */
  room(): Promise<void>;
  /** Called with errors that no client waits for. */
  failed(error: unknown): void;
}
