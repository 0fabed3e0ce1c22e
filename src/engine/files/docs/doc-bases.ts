import { LruCache } from '../../../base/lru-cache.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import { type DocPlace, readDoc } from './doc-log.ts';

// The newest contents of published documents, for writing the next version as what differs from it. Only
// what is durable is in here, so a difference never stands on something that could still be lost. A document
// that is not in here is written whole.

const CACHE_BYTES = 4 * 1024 * 1024;
/** Smaller ones are written whole: the difference would hardly be smaller. */
const CONTENT_CHARS_MIN = 1024;
/** How many records a reader may have to go back through. */
const CHAIN_MAX = 256;

export interface DocBase {
  readonly place: DocPlace;
  readonly content: string;
  /** How many differences lie between it and a record that is whole. */
  readonly chain: number;
}

export class DocBases {
  readonly #cache = new LruCache<string, DocBase>(CACHE_BYTES, ({ content }) => content.length * 2);

  /** What the next version of a document may be written against. */
  find(name: string): DocBase | undefined {
    const base = this.#cache.get(name);
    return base !== undefined && base.chain < CHAIN_MAX ? base : undefined;
  }

  /** The content of the newest version, from memory where it is known; `isNewest` is asked once it is read. */
  async read(
    files: StoreFiles,
    name: string,
    place: DocPlace,
    isNewest: () => boolean,
  ): Promise<string> {
    const known = this.#cache.get(name);
    if (known?.place.offset === place.offset) return known.content;
    const { content = 'null', published } = await readDoc(files, name, place);
    // How far back it stands was not counted, so the next version is written whole.
    if (published && isNewest()) this.note(name, { place, content, chain: CHAIN_MAX });
    return content;
  }

  /** Undefined: there is none any more. */
  note(name: string, base: DocBase | undefined): void {
    const kept = base !== undefined && base.content.length >= CONTENT_CHARS_MIN;
    if (kept) this.#cache.set(name, base);
    else this.#cache.delete(name);
  }
}
