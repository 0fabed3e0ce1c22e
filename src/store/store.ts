import type { Chats } from '../chat/handle/chats.ts';
import type { Contexts } from '../context/contexts.ts';
import type { ReadPage } from '../context/turns/loaded-page.ts';
import type { Queues } from '../queue/events/queue.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Workflows } from '../workflow/threads/workflows.ts';
import type { Blobs } from './blobs.ts';
import type { Maintain } from './maintain.ts';
import type { StoreEvent, WatchFilter, WatchOptions } from './watch-event.ts';

/** The whole store, whatever keeps its data. */
export interface Store {
  readonly contexts: Contexts;
  readonly workflows: Workflows;
  /** Queues in a folder or a database, and through a server over one. UNSUPPORTED where there is no place for any. */
  readonly queues: Queues;
  /** The files that coding agents write: see the guide. */
  readonly sessions: Sessions;
  readonly chats: Chats;
  readonly blobs: Blobs;
  readonly maintain: Maintain;
  /**
   * The events of the whole store: contexts, turns and patches as they become durable, from now on or after an event
   * seen before. Each turn, patch and new context comes once, also across a restart.
   */
  watch(filter?: WatchFilter, options?: WatchOptions): AsyncIterable<StoreEvent>;
  /**
   * Finishes the requests that were sent, ends every `follow` and `watch`, and closes. Idempotent; later calls give
   * CLOSED.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Verbs that need the data at hand, for a store whose engine is in another process. */
export interface StoreElsewhere {
  readonly readPage: ReadPage;
  readonly gc: Maintain['gc'];
  readonly retain: Maintain['retain'];
  readonly eraseTurn: Contexts['erase'];
  readonly eraseBlob: Blobs['erase'];
}
