import type { Hash } from '../base/brand.ts';
import type { Change } from './batch.ts';

// Search begins here: each kind of thread says which texts it shows, and which of them are new since a mark. The search
// index keeps the marks together with what it made of the texts, so that it goes on where it was, wherever it was cut
// off. A text that a reader is not shown is no text: what is hidden, erased or removed leaves the index.

/** One thing with text: a turn, a message, a step, an entry, an output, an event. */
export interface TextDocument {
  /** The context, chat, workflow thread, session or queue that it was written to. */
  readonly thread: string;
  /** Names the document in its thread, for `load`. */
  readonly ref: string;
  /** The name that people know, if it is another. */
  readonly id?: string;
  /** The place in the thread, rising. */
  readonly depth: number;
  /** Unix time in milliseconds. */
  readonly at: number;
  readonly type: string;
  readonly role?: string;
  readonly model?: string;
  /** The payload: a text, or a value with texts in it. */
  readonly value: unknown;
  /** The blob that the text is in, if it is in one of its own: erasing the blob removes the text. */
  readonly blob?: Hash;
  /** For one of several kinds of document from the same source. Default: the kind of the source. */
  readonly kind?: string;
}

export type TextChange =
  /** A new document, or another text for one that is there. */
  | { readonly put: TextDocument }
  | { readonly remove: TextRef }
  | { readonly removeThread: string }
  /** `thread` begins with the documents of `parent` up to this depth. */
  | { readonly fork: { readonly thread: string; readonly parent: string; readonly depth: number } };

/** A part of the news. The index stores the changes and the marks together or not at all. */
export interface TextPage {
  readonly changes: readonly TextChange[];
  /** The new mark of each of these threads; undefined: the thread is gone. */
  readonly marks: readonly (readonly [thread: string, mark: string | undefined])[];
  /** For progress: what was read so far, and what there is to read, in units of the source. */
  readonly done: number;
  readonly total: number;
}

/** The marks that the index has, as the source gave them. */
export interface TextMarks {
  get(thread: string): Promise<string | undefined>;
  /** Threads that have a mark, sorted, after `after`. */
  list(limit: number, after?: string): Promise<readonly string[]>;
  /** The thread and the depth of a document that the index has, whichever thread it was written to. */
  find(ref: string): Promise<{ readonly thread: string; readonly depth: number } | undefined>;
  /** The threads that were forked from this one. */
  forksOf(thread: string): Promise<readonly { readonly thread: string; readonly depth: number }[]>;
}

/** A document by its name. */
export interface TextRef {
  readonly thread: string;
  readonly ref: string;
}

export interface TextSource {
  readonly kind: string;
  /** Told of every commit, so that the next `read` knows where to look. Must be quick, and must not throw. */
  hear(change: Change): void;
  /** Commits may have gone unheard: the next `read` looks everywhere. */
  miss(): void;
  /** Everything that is new since the marks, up to a moment after the call. */
  read(marks: TextMarks): AsyncIterable<TextPage>;
  /** Documents as a reader sees them now, in this order. Undefined when there is nothing to see any more. */
  load(documents: readonly TextRef[]): Promise<readonly (TextDocument | undefined)[]>;
  /** Up to `count` documents on each side of one and itself, in order. */
  around(thread: string, ref: string, count: number): Promise<readonly TextDocument[]>;
  /** Picks the documents that are not there any more, without a look at their texts. */
  gone(documents: readonly TextRef[]): Promise<readonly TextRef[]>;
  /** True when `thread` shows the document of another thread that it was forked from. */
  shows(thread: string, document: TextDocument): Promise<boolean>;
}
