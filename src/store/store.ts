import type { Contexts } from '../context/contexts.ts';
import type { Blobs } from './blobs.ts';
import type { Maintain } from './maintain.ts';

/** All of it, whatever it is kept in. */
export interface Store {
  readonly contexts: Contexts;
  readonly blobs: Blobs;
  readonly maintain: Maintain;
  /** Finishes what was sent, ends every `follow`, lets go. Idempotent; later calls give CLOSED. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
