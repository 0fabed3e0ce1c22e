import { QuipuError } from '../../base/errors.ts';
import type { Progress } from '../../engine/progress.ts';
import type { SearchKind } from '../query/query.ts';
import type { Extractor } from '../text/extract.ts';

// Search over everything that was ever said. The index is an accelerator: it may be deleted, is built again from the
// threads, and never makes a commit fail. A hit is read from its thread before it is shown, so an answer never has a
// text that readers are not shown any more, however far behind the index is.

export interface SearchOptions {
  /** `best`, the default: by BM25. `newest`: by time. */
  readonly order?: 'best' | 'newest';
  /** Hits on a page, or threads when they are grouped. Default 20, at most 100. */
  readonly limit?: number;
  /** The cursor of the page before, for the same query and options. */
  readonly cursor?: string;
  /** True: one group for each thread, with its best hits. Default false. */
  readonly group?: boolean;
  /** True: count the matches by kind, type, model and day. Default false. */
  readonly facets?: boolean;
  /** The number of neighbours to load on each side of a hit. Default 0, at most 10. */
  readonly around?: number;
  /** The longest wait for the index to know everything that was committed before. Default 2,000 ms. */
  readonly waitMs?: number;
  /** The time for the query itself. The answer has the matches that were found by then. Default 1,000 ms. */
  readonly timeMs?: number;
  /** Told how far the index is while the call waits. */
  readonly progress?: Progress;
}

/** A short part of a text, with the places of the words that were looked for. */
export interface Snippet {
  readonly text: string;
  /** Begin and end of each marked place, in UTF-16 units, rising and apart. */
  readonly marks: readonly (readonly [number, number])[];
}

export interface SearchHit {
  readonly kind: SearchKind;
  /** The context, chat, workflow thread, session or queue that the document was written to. */
  readonly thread: string;
  /** The turn, message, step, entry, artifact or event. */
  readonly id: string;
  /** The place in the thread. */
  readonly depth: number;
  /** Unix time in milliseconds. */
  readonly at: number;
  readonly type: string;
  readonly role?: string;
  readonly model?: string;
  readonly tools?: readonly string[];
  /** Higher is better. Only scores of one answer compare. */
  readonly score: number;
  readonly snippet: Snippet;
  /** Every thread that shows this document: forks share what was said before them. At most 20. */
  readonly branches: readonly string[];
  /** True when more threads show it. */
  readonly moreBranches?: true;
  /** The documents before and after it, with itself, if asked for. */
  readonly around?: readonly Neighbour[];
}

export interface Neighbour {
  readonly id: string;
  readonly at: number;
  readonly type: string;
  readonly role?: string;
  /** The beginning of its text. */
  readonly text: string;
}

export interface SearchGroup {
  readonly kind: SearchKind;
  readonly thread: string;
  /** Matches in this thread among those that were ranked. */
  readonly matches: number;
  /** The best or newest hits, at most three. */
  readonly hits: readonly SearchHit[];
}

export interface FacetCount {
  readonly value: string;
  readonly count: number;
}

/** Each list begins with the largest count, and has at most 50 values. */
export interface Facets {
  readonly kind: readonly FacetCount[];
  readonly type: readonly FacetCount[];
  readonly model: readonly FacetCount[];
  /** Days in UTC, such as `2026-11-18`. */
  readonly day: readonly FacetCount[];
}

/** The progress of the index. */
export interface IndexState {
  /** True when it knows everything that was committed before the call. */
  readonly upToDate: boolean;
  /** Documents in the index. */
  readonly documents: number;
  /** While it is behind: what it has read and what there is to read, in records. */
  readonly done?: number;
  readonly total?: number;
}

export interface SearchAnswer {
  readonly hits: readonly SearchHit[];
  /** With `group`; `hits` is empty then. */
  readonly groups?: readonly SearchGroup[];
  readonly facets?: Facets;
  /** Present when there are more. Pages stay right while documents arrive: later ones are not on them. */
  readonly cursor?: string;
  /** Matches that were ranked and counted. */
  readonly matches: number;
  /**
   * `all`: every match was ranked. `newest`: there are very many, and the newest of them were ranked. `time`: the time
   * was up before the whole index was looked through.
   */
  readonly ranked: 'all' | 'newest' | 'time';
  readonly index: IndexState;
}

/** The options of search, for `openStore`. */
export interface SearchSettings {
  /** Extractors of the text of a payload, by the type of turn, entry or event. */
  readonly extractors?: Readonly<Record<string, Extractor>>;
}

export interface Search {
  search(query: string, options?: SearchOptions): Promise<SearchAnswer>;
}

export function searchIsOff(): QuipuError<'UNSUPPORTED'> {
  const message = 'search is off for this store; open it without search: false';
  return new QuipuError('UNSUPPORTED', message, { what: 'search', found: 'search: false' });
}
