import { QuipuError, invalid } from '../base/errors.ts';
import type { Engine, Progress } from '../engine/engine.ts';
import type { TextSource } from '../engine/texts.ts';
import { checkOptions } from './answer/check-options.ts';
import { findAnswer, toIndexState } from './answer/find-answer.ts';
import { Indexer } from './index/indexer.ts';
import { blobPrefix, type ReadText } from './index/read-texts.ts';
import type { SearchIndex } from './contract/search-index.ts';
import { parseQuery } from './query/parse-query.ts';
import type { Search, SearchAnswer, SearchOptions } from './contract/search.ts';

// Search where the data is. The index begins with the first search, and is kept up from then on.

const WALK_DOCS = 500;
const QUERIES_MAX = 16;

export interface SearcherParts {
  readonly engine: Engine;
  readonly sources: readonly TextSource[];
  readonly index: SearchIndex;
  readonly readText: ReadText;
  readonly clock: () => number;
}

export class Searcher implements Search {
  readonly #parts: SearcherParts;
  readonly #sources: ReadonlyMap<string, TextSource>;
  readonly #indexer: Indexer;
  #queries = 0;

  constructor(parts: SearcherParts) {
    this.#parts = parts;
    this.#sources = new Map(parts.sources.map((source) => [source.kind, source]));
    this.#indexer = new Indexer(parts);
  }

  /** Keeps the index up from now on. */
  start(): void {
    this.#indexer.start();
  }

  async search(text: string, options: SearchOptions = {}): Promise<SearchAnswer> {
    if (typeof text !== 'string') throw invalid('query', `must be a text, got ${typeof text}`);
    const { engine, index, readText, clock } = this.#parts;
    const checked = checkOptions(options);
    const query = parseQuery(text, clock());
    if (this.#queries >= QUERIES_MAX) {
      const message = `${QUERIES_MAX} searches are under way; try again in a moment`;
      throw new QuipuError('UNAVAILABLE', message, { what: 'search' });
    }
    this.#queries += 1;
    try {
      const progress = await this.#indexer.catchUp(checked.waitMs, options.progress);
      const parts = { index, readText, sources: this.#sources };
      const { documents, ...answer } = await findAnswer(engine, parts, {
        text,
        query,
        options: checked,
      });
      return { ...answer, index: toIndexState(documents, progress) };
    } finally {
      this.#queries -= 1;
    }
  }

  async rebuild(progress?: Progress): Promise<void> {
    await this.#parts.index.reset();
    this.#indexer.missAll();
    await this.#indexer.catchUp(Infinity, progress);
  }

  /** The store may have changed in ways that no commit reports. */
  async renew(): Promise<void> {
    this.#indexer.missAll();
    await this.#indexer.catchUp(Infinity);
  }

  /** Takes what was erased from the index and from its bytes. Rejects when that cannot be. */
  async forget(blob?: string): Promise<void> {
    await this.#indexer.round();
    if (blob !== undefined) await this.#forgetBlob(blobPrefix(blob));
    await this.#indexer.purge();
  }

  /** Takes documents from the index that a collection removed. */
  async forgetCollected(): Promise<void> {
    await this.#indexer.round();
    for (const source of this.#parts.sources) {
      for (let after = 0; ;) {
        const page = await this.#parts.index.walk(source.kind, after, WALK_DOCS);
        const gone = await source.gone(page);
        await this.#indexer.remove(
          source.kind,
          gone.map(({ thread, ref }) => ({ remove: { thread, ref } })),
        );
        const last = page.at(-1);
        if (last === undefined || page.length < WALK_DOCS) break;
        after = last.id;
      }
    }
    await this.#indexer.purge();
  }

  async close(): Promise<void> {
    await this.#indexer.close();
    await this.#parts.index.close();
  }

  async #forgetBlob(prefix: number): Promise<void> {
    for (const { source, thread, ref } of await this.#parts.index.inBlob(prefix)) {
      const [document] = (await this.#sources.get(source)?.load([{ thread, ref }])) ?? [];
      if (document === undefined) await this.#indexer.remove(source, [{ remove: { thread, ref } }]);
    }
  }
}
