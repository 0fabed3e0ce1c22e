import type { Progress } from '../../engine/progress.ts';
import type { TextMarks } from '../../engine/texts.ts';
import type { Condition, Phrase, Term } from '../query/query.ts';
import type { Facets } from './search.ts';

// The work of an engine for search: it stores tokens with their documents, and picks documents for a condition. Both
// engines rank with the same code (`rank`) over rows that they fetch in their own way.

/** A document for the index. */
export interface IndexedText {
  readonly kind: string;
  readonly thread: string;
  readonly ref: string;
  readonly depth: number;
  readonly at: number;
  readonly type: string;
  readonly role?: string;
  readonly model?: string;
  readonly tools: readonly string[];
  /** The first 48 bits of the hash of the blob that has the text. */
  readonly blob?: number;
  readonly texts: readonly string[];
}

export type IndexChange =
  | { readonly put: IndexedText }
  | { readonly remove: { readonly thread: string; readonly ref: string } }
  | { readonly removeThread: string }
  | { readonly fork: { readonly thread: string; readonly parent: string; readonly depth: number } };

/** Changes of one source with its new marks: stored together or not at all. */
export interface IndexPage {
  readonly source: string;
  readonly changes: readonly IndexChange[];
  readonly marks: readonly (readonly [thread: string, mark: string | undefined])[];
  /** The progress of the source behind this page, for others who wait. */
  readonly progress: { readonly done: number; readonly total: number };
  /** False: more follows, and the index may store this page together with what follows. */
  readonly isLast: boolean;
}

/** The place behind the last hit of a page: pages after it begin there. */
export interface PagePlace {
  /** Documents that came later are not on the pages of this answer. */
  readonly upTo: number;
  readonly key: number;
  readonly id: number;
}

export interface PickRequest {
  readonly condition: Condition | undefined;
  /** Leaves that count for the rank. */
  readonly leaves: readonly (Term | Phrase)[];
  /** True when a document can match without each of the leaves. */
  readonly isLoose: boolean;
  readonly order: 'best' | 'newest';
  readonly limit: number;
  readonly after?: PagePlace;
  readonly group: boolean;
  readonly facets: boolean;
  readonly before?: number;
  readonly since?: number;
  /** Only documents of these threads of contexts. */
  readonly contexts?: readonly string[];
  readonly notContexts?: readonly string[];
  readonly timeMs: number;
  /** The number of candidates to rank. */
  readonly candidates: number;
}

export interface Picked {
  readonly id: number;
  /** The score, or the time for the order `newest`. */
  readonly key: number;
  readonly score: number;
  /** The source that the document came from. */
  readonly source: string;
  readonly thread: string;
  readonly ref: string;
  readonly depth: number;
  /** Other threads were forked from its thread. */
  readonly isForked?: boolean;
}

export interface Picks {
  readonly upTo: number;
  /** In order. With `group`, at most three of each thread stand together. */
  readonly picked: readonly Picked[];
  /** With `group`: matches by thread, as `source` and `thread` separated by a space. */
  readonly groups?: ReadonlyMap<string, number>;
  readonly more: boolean;
  readonly matches: number;
  readonly ranked: 'all' | 'newest' | 'time';
  readonly facets?: Facets;
  /** Documents in the index. */
  readonly documents: number;
}

export interface Fork {
  readonly thread: string;
  readonly depth: number;
}

/** Where an index is, or would be. */
export interface IndexPlace {
  /** True when an index was begun. */
  exists(): Promise<boolean>;
  /**
   * `fingerprint` tells one way of reading texts from another: an index of another one is begun again. It is empty for
   * the way that is built in.
   */
  open(fingerprint: string): Promise<KeptIndex>;
  remove(): Promise<void>;
}

/**
 * An index that remembers erasures. One that was left with such a note by a process that died is begun again: nobody
 * knows what is in it.
 */
export interface KeptIndex extends SearchIndex {
  /** Notes that something is about to be erased. On the disk when it resolves. */
  noteErasure(): Promise<void>;
  /** Strikes out the note: the index has forgotten. */
  strikeErasure(): Promise<void>;
}

/** Where several processes share an index, one of them changes it at a time. */
export interface HoldWish {
  /** True for an erasure: whoever holds the index for a long work is asked to let go. May become true meanwhile. */
  readonly isUrgent: () => boolean;
  /** Ends the wait, and `hold` rejects with CLOSED. */
  readonly signal: AbortSignal;
  /** Told how far the holder is. */
  readonly waiting?: Progress;
}

export interface Held {
  /** The last commit before this moment, where others than this process commit. Undefined: it heard of all. */
  readonly seq?: number;
  /** True when the index was begun again since this process held it: everything must be looked at. */
  readonly isNew: boolean;
  /** True when an erasure of another process waits: the work may stop at any page, and goes on later. */
  readonly isWanted: boolean;
}

export interface SearchIndex {
  /**
   * Runs `work` while no other process changes the index. It returns true when the index then knows everything that
   * was committed before `work` began. Resolves with the same, and with false where this process may not fill the
   * index.
   */
  hold(wish: HoldWish, work: (held: Held) => Promise<boolean>): Promise<boolean>;
  /** True when there may be something new to read. */
  isBehind(): Promise<boolean>;
  /** The characters of a page. More at once takes memory, less takes time. */
  readonly pageChars: number;
  /**
   * Returns the number of rows that left the index. Only within `hold`. The last page is found by a query when it
   * resolves, and all before it are.
   */
  apply(page: IndexPage): Promise<number>;
  marks(source: string): TextMarks;
  pick(request: PickRequest): Promise<Picks>;
  /** Threads forked from this one. */
  forksOf(source: string, thread: string): Promise<readonly Fork[]>;
  /** The thread that this one was forked from. */
  parentOf(source: string, thread: string): Promise<Fork | undefined>;
  /** Documents whose text is in a blob with this beginning. */
  inBlob(blob: number): Promise<readonly { source: string; thread: string; ref: string }[]>;
  /** Documents of a source after one, in the order of the index, to look whether they are still there. */
  walk(source: string, after: number, limit: number): Promise<readonly Picked[]>;
  /** Removes what was taken out of the index from its bytes, too. */
  purge(): Promise<void>;
  /** Empties the index. */
  reset(): Promise<void>;
  close(): Promise<void>;
}
