import { join, resolve } from 'node:path';
import type { Engine, Progress } from '../engine/engine.ts';
import { indexInFolder } from '../search/files/index-place.ts';
import { createStore, type StoreOptions } from './create-store.ts';
import type { Store } from './store.ts';
import type { PostgresEngine, PostgresEngineOptions } from '../engine/postgres/postgres-engine.ts';
import { sha256Hex } from '../base/hash.ts';
import { encodeUtf8 } from '../base/text.ts';
import type { IndexPlace, KeptIndex } from '../search/contract/search-index.ts';
import { observeEngine, type Forgetting } from '../search/observe-engine.ts';
import {
  searchIsOff,
  type Search,
  type SearchAnswer,
  type SearchOptions,
  type SearchSettings,
} from '../search/contract/search.ts';
import type { Searcher } from '../search/searcher.ts';
import { createQueuesAt, type QueuesPlace } from './kinds.ts';
import { storeClosed } from '../base/errors.ts';

type Parts = Pick<SearchHome, 'queues' | 'place'>;

interface KeptOptions
  extends
    Omit<StoreOptions, 'elsewhere' | 'queues' | 'search'>,
    Parts,
    Pick<SearchHome, 'settings'> {}

interface KeptStore {
  /** The engine of the store: its erasures reach the index of search. */
  readonly engine: Engine;
  readonly store: Store;
}

/** The store of a process that keeps the data, with its search. */
export function keptStore(given: Engine, { place, settings, ...options }: KeptOptions): KeptStore {
  const { clock, folder, queues } = options;
  const search = new SearchKeeper({ engine: given, clock, folder, queues, place, settings });
  const { engine } = search;
  return { engine, store: createStore(engine, { ...options, search }) };
}

/** The places that belong to a store in a folder. */
export function partsIn(folder: string): Parts & { readonly folder: string } {
  const at = resolve(folder);
  return { folder: at, queues: { folder: join(at, 'queues') }, place: indexInFolder(at) };
}

interface DatabaseParts extends Parts {
  readonly engine: PostgresEngine;
}

/**
 * Opens the database of a store, and names the places of its queues and its search. A store that is made now gets all
 * its tables at once: later users need no right to make tables. Few processes use a database, so its modules are loaded
 * here.
 */
export async function openDatabaseParts(
  url: string,
  options: Omit<PostgresEngineOptions, 'moreTables'> = {},
): Promise<DatabaseParts> {
  const { openPostgresEngine } = await import('../engine/postgres/postgres-engine.ts');
  const { QUEUE_TABLES } = await import('../queue/postgres/tables/schema.ts');
  const { SEARCH_TABLES } = await import('../search/postgres/schema.ts');
  const { indexInDatabase } = await import('../search/postgres/index-place.ts');
  const engine = await openPostgresEngine(url, {
    ...options,
    moreTables: [QUEUE_TABLES, SEARCH_TABLES],
  });
  const { database } = engine;
  return { engine, queues: { database }, place: indexInDatabase(database) };
}

// Search for a process that keeps the data. Nothing is loaded and nothing is made before the first search. From then on
// the index is there, and whoever keeps the data keeps it up.
// Invariants
// - An erasure is noted in the index before it begins and struck out when the index has forgotten.
// - An index that cannot forget is removed.

/** An index that is there is opened this long after the store, so that short commands do not pay for it. */
const BEGIN_MS = 300;

interface SearchHome {
  readonly engine: Engine;
  readonly clock?: (() => number) | undefined;
  /** The folder of the store, if it has one. */
  readonly folder: string | undefined;
  readonly queues: Exclude<QueuesPlace, { readonly queues: unknown }>;
  readonly place: IndexPlace;
  /** False: no search. An index that is there goes with the first erasure. */
  readonly settings: SearchSettings | boolean | undefined;
}

interface Opened {
  readonly index: KeptIndex;
  readonly searcher: Searcher;
  close(): Promise<void>;
}

export class SearchKeeper implements Search, Forgetting {
  /** To be used in the place of the engine: its erasures reach the index. */
  readonly engine: Engine;
  readonly #home: SearchHome;
  readonly #timer: NodeJS.Timeout | undefined;
  #opened: Promise<Opened> | undefined;
  #erasing = 0;
  /** Notes and strikes of erasures, one after the other. */
  #noting: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(home: SearchHome) {
    this.#home = home;
    this.engine = observeEngine(home.engine, this);
    if (home.settings !== false) {
      const start = async (): Promise<void> => (await this.#ifThere())?.searcher.start();
      this.#timer = setTimeout(() => void start().catch(() => undefined), BEGIN_MS).unref();
    }
  }

  async search(query: string, options?: SearchOptions): Promise<SearchAnswer> {
    return (await this.#open()).searcher.search(query, options);
  }

  async rebuild(progress?: Progress): Promise<void> {
    await (await this.#ifThere())?.searcher.rebuild(progress);
  }

  async begin(): Promise<void> {
    const opened = await this.#ifThere();
    if (opened === undefined) return this.#removeIfOff();
    this.#erasing += 1;
    if (this.#erasing === 1) {
      this.#noting = this.#noting.catch(() => undefined).then(() => opened.index.noteErasure());
    }
    try {
      await this.#noting;
    } catch (error) {
      this.#erasing -= 1;
      throw error;
    }
  }

  async end(erased: { readonly blob?: string; readonly collected?: true }): Promise<void> {
    if (this.#erasing === 0) return;
    const { index, searcher } = await this.#open();
    try {
      if (erased.collected === true) await searcher.forgetCollected();
      else await searcher.forget(erased.blob);
    } catch {
      // Without the index there is nothing of the erased text in it. If even that fails, the note stays.
      await index.reset().catch((error: unknown) => {
        this.#erasing -= 1;
        throw error;
      });
    }
    this.#erasing -= 1;
    if (this.#erasing > 0) return;
    this.#noting = this.#noting.then(() =>
      this.#erasing === 0 ? index.strikeErasure() : undefined,
    );
    await this.#noting;
  }

  async renew(): Promise<void> {
    await (await this.#ifThere())?.searcher.renew();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.close();
  }

  async #removeIfOff(): Promise<void> {
    const { place, settings } = this.#home;
    if (settings === false && (await place.exists())) await place.remove();
  }

  async #ifThere(): Promise<Opened | undefined> {
    if (this.#opened !== undefined) return this.#opened;
    const { place, settings } = this.#home;
    if (settings === false || this.#closed || !(await place.exists())) return undefined;
    return this.#open();
  }

  #open(): Promise<Opened> {
    if (this.#home.settings === false) return Promise.reject(searchIsOff());
    if (this.#closed) return Promise.reject(storeClosed());
    this.#opened ??= this.#load().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #load(): Promise<Opened> {
    const { engine, clock = Date.now, folder, queues, place, settings } = this.#home;
    const extractors = typeof settings === 'object' ? (settings.extractors ?? {}) : {};
    const [{ Searcher }, { textSources }, { readTextsWith }] = await Promise.all([
      import('../search/searcher.ts'),
      import('./text-sources.ts'),
      import('../search/index/read-texts.ts'),
    ]);
    const index = await place.open(fingerprintOf(extractors));
    const owned = await createQueuesAt(queues);
    const sources = textSources({ engine, clock, folder, queues: owned });
    const readText = readTextsWith(extractors);
    const searcher = new Searcher({ engine, clock, index, sources, readText });
    return {
      index,
      searcher,
      async close() {
        await searcher.close();
        await owned.close();
      },
    };
  }
}

/** Other extractors find other texts, so the index is made again. Empty where there are none. */
function fingerprintOf(extractors: NonNullable<SearchSettings['extractors']>): string {
  if (Object.keys(extractors).length === 0) return '';
  const parts = Object.entries(extractors).map(
    ([type, extractor]) => `${type} ${String(extractor)}`,
  );
  return sha256Hex(encodeUtf8(JSON.stringify(parts.toSorted(byText)))).slice(0, 16);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
