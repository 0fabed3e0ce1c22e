import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { Change } from '../../engine/batch.ts';
import type { Engine, Progress } from '../../engine/engine.ts';
import type { TextMarks, TextPage, TextSource } from '../../engine/texts.ts';
import { toIndexChange, type ReadText } from './read-texts.ts';
import type { Held, IndexChange, IndexPage, SearchIndex } from '../contract/search-index.ts';

// Keeps an index up with its threads. A commit only wakes the indexer, which then reads what is new, page by page.
// Invariants
// - One round runs at a time, over all processes that share the index. One page is written while the next is read:
//   memory holds two pages.
// - A round that begins after a commit finds it. So whoever waits for a round that began after his call reads his own
//   writes.
// - A failure never reaches a commit. The round ends, and the next one goes on where the index is.

const PAGE_DOCS = 1024;
/** A round begins this long after a commit, so that a busy writer costs one round for many commits. */
const PAUSE_MS = 100;
const RETRY_MS = 5000;
/** News of a commit come within milliseconds. After this time everything is looked at instead. */
const HEAR_MS = 3000;
const HEAR_AGAIN_MS = 5;
/** Words that left the index leave its bytes when it has been quiet for this long. */
const PURGE_MS = 2000;

export interface IndexerParts {
  readonly engine: Engine;
  readonly sources: readonly TextSource[];
  readonly index: SearchIndex;
  readonly readText: ReadText;
}

export interface IndexProgress {
  readonly upToDate: boolean;
  readonly done: number;
  readonly total: number;
}

export class Indexer {
  readonly #parts: IndexerParts;
  #stop: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #purging: NodeJS.Timeout | undefined;
  /** The round under way, and the one that begins after it. They resolve with true when the index is up to date. */
  #round: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  /** Callers that wait for the next round because of an erasure. */
  #urgent = 0;
  /** The newest commit that sources were told of. */
  #heard = 0;
  /** True when sources look everywhere the next time. */
  #isMissed = true;
  #left = false;
  /** True when the last round stopped for an erasure of another process. */
  #wasCut = false;
  readonly #closing = new AbortController();
  #at: Omit<IndexProgress, 'upToDate'> = { done: 0, total: 0 };
  readonly #listeners = new Set<Progress>();

  constructor(parts: IndexerParts) {
    this.#parts = parts;
  }

  /** Begins to listen. From here on the index keeps up by itself. */
  start(): void {
    if (this.#stop !== undefined || this.#closing.signal.aborted) return;
    const { engine, sources } = this.#parts;
    const hear = (change: Change): void => {
      this.#heard = Math.max(this.#heard, change.seq);
      for (const source of sources) source.hear(change);
      this.#wake(PAUSE_MS);
    };
    const miss = (): void => {
      this.missAll();
      this.#wake(PAUSE_MS);
    };
    this.#stop = engine.subscribe(hear, miss);
    this.#wake(PAUSE_MS);
  }

  /** Tells the sources that anything may have changed. */
  missAll(): void {
    for (const source of this.#parts.sources) source.miss();
    this.#isMissed = true;
  }

  /** Resolves after a round that began after this call, or after `waitMs`. */
  async catchUp(waitMs: number, progress?: Progress): Promise<IndexProgress> {
    this.start();
    if (progress !== undefined) this.#listeners.add(progress);
    let timer: NodeJS.Timeout | undefined;
    const timeUp = new Promise<'late'>((resolve) => {
      if (Number.isFinite(waitMs)) timer = setTimeout(() => resolve('late'), waitMs);
    });
    try {
      const round = this.#nextRound().catch(() => false);
      const result = await Promise.race([round, timeUp]);
      return { upToDate: result === true, ...this.#at };
    } finally {
      clearTimeout(timer);
      if (progress !== undefined) this.#listeners.delete(progress);
    }
  }

  /** As `catchUp`, for an erasure: without a bound, before the work of others, and rejects where that cannot be. */
  async round(): Promise<void> {
    this.start();
    this.#urgent += 1;
    try {
      if (await this.#nextRound()) return;
    } finally {
      this.#urgent -= 1;
    }
    throw new QuipuError('UNAVAILABLE', 'another process is changing the search index; try again', {
      what: 'search index',
    });
  }

  /** Writes changes that no source reports. */
  async remove(source: string, changes: readonly IndexChange[]): Promise<void> {
    if (changes.length === 0) return;
    await this.#hold(
      () => true,
      async () => {
        await this.#apply({ source, changes, marks: [], progress: this.#at, isLast: true });
        return true;
      },
    );
  }

  async purge(): Promise<void> {
    clearTimeout(this.#purging);
    this.#purging = undefined;
    if (!this.#left) return;
    this.#left = false;
    await this.#parts.index.purge();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stop?.();
    clearTimeout(this.#timer);
    clearTimeout(this.#purging);
    await Promise.allSettled([this.#round, this.#next]);
    if (this.#left) await this.purge().catch(() => undefined);
  }

  #wake(afterMs: number): void {
    if (this.#timer !== undefined || this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#roundIfBehind().catch(() => this.#wake(RETRY_MS));
    }, afterMs);
    this.#timer.unref();
  }

  async #roundIfBehind(): Promise<void> {
    if (await this.#parts.index.isBehind()) await this.#nextRound();
  }

  /** A round that has not begun yet: callers that come meanwhile share it. */
  #nextRound(): Promise<boolean> {
    this.#next ??= this.#runNext();
    return this.#next;
  }

  async #runNext(): Promise<boolean> {
    await this.#round?.catch(() => undefined);
    let round: Promise<boolean> | undefined;
    try {
      const isDone = await this.#hold(
        () => this.#urgent > 0,
        (held) => {
          // The round begins here: whoever comes now needs another one.
          this.#next = undefined;
          round = this.#run(held);
          this.#round = round;
          return round;
        },
      );
      if (isDone || !this.#wasCut) return isDone;
    } finally {
      if (round === undefined) this.#next = undefined;
      else if (this.#round === round) this.#round = undefined;
    }
    return this.#nextRound();
  }

  #hold(isUrgent: () => boolean, work: (held: Held) => Promise<boolean>): Promise<boolean> {
    const waiting: Progress = (done, total, what) => this.#tell(done, total, what);
    return this.#parts.index.hold({ isUrgent, signal: this.#closing.signal, waiting }, work);
  }

  async #run(held: Held): Promise<boolean> {
    this.#wasCut = false;
    if (held.isNew) this.missAll();
    if (held.seq !== undefined) await this.#hearUpTo(held.seq);
    for (const source of this.#parts.sources) {
      if (this.#closing.signal.aborted) return false;
      try {
        await this.#read(source, held);
      } catch (error) {
        // Whatever was noted for this reading is looked for again.
        source.miss();
        if (!isQuipuError(error, 'CLOSED')) throw error;
        return false;
      }
      if (!held.isWanted) continue;
      source.miss();
      this.#wasCut = true;
      return false;
    }
    if (this.#left && this.#purging === undefined && !this.#closing.signal.aborted) {
      this.#purging = setTimeout(() => void this.purge().catch(() => undefined), PURGE_MS);
      this.#purging.unref();
    }
    return true;
  }

  /** Sources know from commits where to look, and the caller's own may be on the way still. */
  async #hearUpTo(seq: number): Promise<void> {
    const until = performance.now() + HEAR_MS;
    while (this.#heard < seq && !this.#isMissed && !this.#closing.signal.aborted) {
      if (performance.now() > until) this.missAll();
      else await sleep(HEAR_AGAIN_MS);
    }
    this.#heard = Math.max(this.#heard, seq);
    this.#isMissed = false;
  }

  async #read(source: TextSource, held: Held): Promise<void> {
    const { index, readText } = this.#parts;
    const batch = new PageWriter(source.kind, index.pageChars, (page) => this.#apply(page));
    const marks = batch.marksOf(index.marks(source.kind));
    for await (const page of source.read(marks)) {
      for (const change of page.changes) {
        batch.add(toIndexChange(source.kind, change, readText));
      }
      await batch.mark(page);
      this.#tell(page.done, page.total, source.kind);
      if (this.#closing.signal.aborted || held.isWanted) break;
      await nextTurn();
    }
    await batch.flush();
  }

  async #apply(page: IndexPage): Promise<void> {
    if ((await this.#parts.index.apply(page)) > 0) this.#left = true;
  }

  #tell(done: number, total: number, what: string): void {
    this.#at = { done, total };
    for (const listener of this.#listeners) listener(done, total, what);
  }
}

/** Gathers changes, and writes one page while the next is read. */
class PageWriter {
  readonly #source: string;
  readonly #pageChars: number;
  readonly #apply: (page: IndexPage) => Promise<void>;
  #changes: IndexChange[] = [];
  #marks = new Map<string, string | undefined>();
  #chars = 0;
  #progress: IndexPage['progress'] = { done: 0, total: 0 };
  #writing: Promise<void> = Promise.resolve();
  /** True when the index waits for the last page. */
  #isOpen = false;

  constructor(source: string, pageChars: number, apply: (page: IndexPage) => Promise<void>) {
    this.#source = source;
    this.#pageChars = pageChars;
    this.#apply = apply;
  }

  /** The marks of the index, which a source asks after what was added here. */
  marksOf(marks: TextMarks): TextMarks {
    return {
      get: async (thread) =>
        this.#marks.has(thread) ? this.#marks.get(thread) : marks.get(thread),
      list: async (limit, after) => {
        await this.flush();
        return marks.list(limit, after);
      },
      find: async (ref) => {
        await this.flush();
        return marks.find(ref);
      },
      forksOf: async (thread) => {
        await this.flush();
        return marks.forksOf(thread);
      },
    };
  }

  add(change: IndexChange): void {
    this.#changes.push(change);
    if ('put' in change) for (const text of change.put.texts) this.#chars += text.length;
  }

  async mark({ marks, done, total }: TextPage): Promise<void> {
    for (const [thread, mark] of marks) this.#marks.set(thread, mark);
    this.#progress = { done, total };
    if (this.#changes.length >= PAGE_DOCS || this.#chars >= this.#pageChars)
      await this.#send(false);
  }

  async flush(): Promise<void> {
    await this.#send(true);
    await this.#writing;
  }

  /** Waits for the page before, and leaves the writing of this one to itself. */
  async #send(isLast: boolean): Promise<void> {
    await this.#writing;
    const isEmpty = this.#changes.length === 0 && this.#marks.size === 0;
    if (isEmpty && !(isLast && this.#isOpen)) return;
    this.#isOpen = !isLast;
    const page = {
      source: this.#source,
      changes: this.#changes,
      marks: [...this.#marks],
      progress: this.#progress,
      isLast,
    };
    this.#changes = [];
    this.#marks = new Map();
    this.#chars = 0;
    this.#writing = this.#apply(page);
    // The next page, or the end, reports it.
    this.#writing.catch(() => undefined);
  }
}
