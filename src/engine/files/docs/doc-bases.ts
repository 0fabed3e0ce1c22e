import { LruCache } from '../../../base/lru-cache.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { DocPlace } from '../index/shelf.ts';
import { readDoc } from './doc-log.ts';

// The newest contents of published documents, for writing the next version as a difference. Only durable contents
// are here, so a difference never builds on data that could still be lost. A document that is not here is written
// whole.

const CACHE_BYTES = 4 * 1024 * 1024;
/** Smaller documents are written whole: the difference would hardly be smaller. */
const CONTENT_CHARS_MIN = 1024;
/** The most records that a reader may have to go back through. */
const CHAIN_MAX = 256;

export interface DocBase {
  readonly place: DocPlace;
  readonly content: string;
  /** The number of differences between this version and a whole record. */
  readonly chain: number;
}

export class DocBases {
  readonly #cache = new LruCache<string, DocBase>(CACHE_BYTES, ({ content }) => content.length * 2);

  /** The base that the next version of a document may be written against. */
  find(name: string): DocBase | undefined {
    const base = this.#cache.get(name);
    return base !== undefined && base.chain < CHAIN_MAX ? base : undefined;
  }

  /** The content of the newest version, from memory where known. `isNewest` is called after the read. */
  async read(
    files: StoreFiles,
    name: string,
    place: DocPlace,
    isNewest: () => boolean,
  ): Promise<string> {
    const known = this.#cache.get(name);
    if (known?.place.offset === place.offset) return known.content;
    const { content = 'null', published } = await readDoc(files, name, place);
    // The length of the chain was not counted, so the next version is written whole.
    if (published && isNewest()) this.note(name, { place, content, chain: CHAIN_MAX });
    return content;
  }

  /** Undefined: the document is gone. */
  note(name: string, base: DocBase | undefined): void {
    const kept = base !== undefined && base.content.length >= CONTENT_CHARS_MIN;
    if (kept) this.#cache.set(name, base);
    else this.#cache.delete(name);
  }
}
