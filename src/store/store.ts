import type { Chats } from '../chat/handle/chats.ts';
import type { TurnId } from '../base/brand.ts';
import type { Contexts, EraseOptions, TurnEraseReport } from '../context/contexts.ts';
import type { Schemas, TypedContexts, TypedOptions } from '../context/typed/typed-contexts.ts';
import type { ReadPage } from '../context/turns/loaded-page.ts';
import type { EraseReport } from '../engine/upkeep.ts';
import type { Queues } from '../queue/events/queue.ts';
import type { SearchAnswer, SearchOptions } from '../search/contract/search.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Workflows } from '../workflow/threads/workflows.ts';
import type { BlobEraseOptions, Blobs } from './blobs.ts';
import type { Maintain, Retaining } from './maintain.ts';
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
   * Finds what was ever said: in turns, messages, steps, entries, outputs and events. The first search makes the index,
   * and later ones find everything that was committed before them.
   */
  search(query: string, options?: SearchOptions): Promise<SearchAnswer>;
  /**
   * The events of the whole store: contexts, turns and patches as they become durable, from now on or after an event
   * seen before. Each turn, patch and new context comes once, also across a restart.
   */
  watch(filter?: WatchFilter, options?: WatchOptions): AsyncIterable<StoreEvent>;
  /**
   * The same store, with payloads typed and checked by the type of their turn. The schemas are those of Zod, Valibot,
   * ArkType or any other Standard Schema. Payloads of other types stay `unknown`.
   */
  typed<S extends Schemas, Checked extends boolean = false>(
    schemas: S,
    options?: TypedOptions<Checked>,
  ): TypedStore<S, Checked>;
  /**
   * Finishes the requests that were sent, ends every `follow` and `watch`, and closes. Idempotent; later calls give
   * CLOSED.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type TypedStore<S extends Schemas, Checked extends boolean = false> = Omit<
  Store,
  'contexts' | 'typed'
> & { readonly contexts: TypedContexts<S, Checked> };

/** Verbs that need the data at hand, for a store whose engine is in another process. */
export interface StoreElsewhere extends Retaining {
  readonly readPage: ReadPage;
  readonly gc: Maintain['gc'];
  readonly eraseTurn: (turn: TurnId, options: EraseOptions) => Promise<TurnEraseReport>;
  readonly eraseBlob: (ref: string, options: BlobEraseOptions) => Promise<EraseReport>;
  readonly search: Store['search'];
}
