import type { TextMarks } from '../../engine/texts.ts';
import type {
  Fork,
  Held,
  HoldWish,
  IndexPage,
  KeptIndex,
  PickRequest,
  Picked,
  Picks,
} from '../contract/search-index.ts';
import { Desk } from './desk.ts';
import { removeSearchFiles } from './index-place.ts';

// The index of a store in a folder: search.db, which only the owner of the folder opens.
// Invariants
// - A file that cannot be used, because it is damaged or of another version, is removed and begun again. Everything in
//   it can be read from the threads.
// - Marks, and so the place where indexing goes on, are in the same file as what they are about.

const EMPTY: Picks = {
  upTo: 0,
  picked: [],
  more: false,
  matches: 0,
  ranked: 'all',
  documents: 0,
};
/** Small pages live for a moment: of large ones, the process kept 80 MB. The writer puts them together again. */
const PAGE_CHARS = 65_536;
/** Marks that are kept in memory. */
const MARKS_MAX = 1000;

/** The state that says that something is being erased. */
const ERASING = 'erasing';

/** Result codes and names that say that the file is at fault. */
const DAMAGED = /^SQLITE_(?:CORRUPT|NOTADB|SCHEMA|MISMATCH)|^WrongVersion$/;

export class FilesIndex implements KeptIndex {
  readonly pageChars: number = PAGE_CHARS;
  readonly #path: string;
  /** Tells one way of reading texts from another: after a change everything is read anew. */
  readonly #fingerprint: string;
  readonly #writer: Desk<'write'>;
  readonly #reader: Desk<'read'>;
  readonly #marks = new Map<string, Promise<unknown>>();
  #opening: Promise<void> | undefined;

  constructor(path: string, fingerprint: string) {
    this.#path = path;
    this.#fingerprint = fingerprint;
    this.#writer = new Desk('write', path);
    this.#reader = new Desk('read', path);
  }

  /** Only the owner of the folder has the file open. */
  hold(_: HoldWish, work: (held: Held) => Promise<boolean>): Promise<boolean> {
    return work({ isNew: false, isWanted: false });
  }

  isBehind(): Promise<boolean> {
    return Promise.resolve(true);
  }

  apply(page: IndexPage): Promise<number> {
    this.#marks.clear();
    return this.#write(() => this.#writer.call('apply', page));
  }

  marks(source: string): TextMarks {
    return {
      get: (thread) =>
        this.#known(`get ${source} ${thread}`, () => this.#writer.call('getMark', source, thread)),
      list: (limit, after = '') =>
        this.#known(`list ${limit} ${source} ${after}`, () =>
          this.#writer.call('listMarks', source, limit, after),
        ),
      find: (ref) => this.#write(() => this.#writer.call('findRef', source, ref)),
      forksOf: (thread) => this.forksOf(source, thread),
    };
  }

  pick(request: PickRequest): Promise<Picks> {
    return this.#read(() => this.#reader.call('pick', request), EMPTY);
  }

  forksOf(source: string, thread: string): Promise<readonly Fork[]> {
    return this.#read(() => this.#reader.call('forksOf', source, thread), []);
  }

  parentOf(source: string, thread: string): Promise<Fork | undefined> {
    return this.#read(() => this.#reader.call('parentOf', source, thread), undefined);
  }

  inBlob(blob: number): Promise<readonly { source: string; thread: string; ref: string }[]> {
    return this.#read(() => this.#reader.call('inBlob', blob), []);
  }

  walk(source: string, after: number, limit: number): Promise<readonly Picked[]> {
    return this.#read(() => this.#reader.call('walk', source, after, limit), []);
  }

  purge(): Promise<void> {
    return this.#write(() => this.#writer.call('purge'));
  }

  noteErasure(): Promise<void> {
    return this.#write(() => this.#writer.call('keepState', ERASING, 'yes'));
  }

  strikeErasure(): Promise<void> {
    return this.#write(() => this.#writer.call('keepState', ERASING, ''));
  }

  async reset(): Promise<void> {
    await this.close();
    removeSearchFiles(this.#path);
  }

  async close(): Promise<void> {
    this.#marks.clear();
    await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    await this.#reader.close();
    await this.#writer.close();
  }

  async #write<T>(work: () => Promise<T>): Promise<T> {
    await this.#open();
    try {
      return await work();
    } catch (error) {
      // The pages of a transaction fail together.
      this.#marks.clear();
      if (isDamage(error)) await this.reset();
      throw error;
    }
  }

  /** Only pages change marks, and they come from here. So a search after which nothing is new asks no thread. */
  #known<T>(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#marks.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const asked = this.#write(ask);
    if (this.#marks.size >= MARKS_MAX) this.#marks.clear();
    this.#marks.set(key, asked);
    // Whoever asked is told.
    asked.catch(() => this.#marks.delete(key));
    return asked;
  }

  /** A file that is damaged answers as an empty one does, and is filled again by the next round. */
  async #read<T>(work: () => Promise<T>, empty: T): Promise<T> {
    await this.#open();
    try {
      return await work();
    } catch (error) {
      if (!isDamage(error)) throw error;
      await this.reset();
      return empty;
    }
  }

  #open(): Promise<void> {
    this.#opening ??= this.#prepare();
    return this.#opening;
  }

  async #prepare(): Promise<void> {
    try {
      const known = await this.#writer.call('state', 'texts');
      const isDoubtful = (await this.#writer.call('state', ERASING)) === 'yes';
      if (known === this.#fingerprint && !isDoubtful) return;
      if (known !== undefined) await this.#begin();
    } catch (error) {
      if (!isDamage(error)) throw error;
      await this.#begin();
    }
    await this.#writer.call('setState', 'texts', this.#fingerprint);
  }

  async #begin(): Promise<void> {
    this.#marks.clear();
    await this.#reader.close();
    await this.#writer.close();
    removeSearchFiles(this.#path);
  }
}

function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (
    DAMAGED.test(typeof code === 'string' ? code : error.constructor.name) ||
    DAMAGED.test(error.name)
  );
}
