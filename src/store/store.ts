import type { Contexts } from '../context/contexts.ts';
import type { Workflows } from '../workflow/workflows.ts';
import type { Queues } from '../queue/queue.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Chats } from '../chat/chats.ts';
import type { Blobs } from './blobs.ts';
import type { Maintain } from './maintain.ts';
import type { StoreEvent, WatchFilter, WatchOptions } from './watch-event.ts';

/** All of it, whatever it is kept in. */
export interface Store {
  readonly contexts: Contexts;
  readonly workflows: Workflows;
  /** In a folder or a database, and through a server over one; where there is no place for any, UNSUPPORTED. */
  readonly queues: Queues;
  /** What coding agents write: see the guide. */
  readonly sessions: Sessions;
  readonly chats: Chats;
  readonly blobs: Blobs;
  readonly maintain: Maintain;
  /**
   * What happens in the whole store: contexts, turns and patches as they become durable, from now on or
   * after an event seen before. Each turn, patch and new context comes once, also across a restart.
   */
  watch(filter?: WatchFilter, options?: WatchOptions): AsyncIterable<StoreEvent>;
  /** Finishes what was sent, ends every `follow` and `watch`, lets go. Idempotent; later calls give CLOSED. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
