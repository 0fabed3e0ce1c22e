import type { Progress } from '../../engine.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { ContextPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import type { Check, Found } from './check.ts';
import type { Copy } from './copy.ts';
import type { Quarantine } from './quarantine.ts';
import type { DamageReport, StateWriter, Tails } from './state.ts';
import type { FileMagic } from '../../../format/file-header.ts';
import type { HeadMove } from '../../../format/head-moves.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';

// The contract of a truth: one kind of thing that a store keeps, with all files that it is kept in. The truth is a
// value in the folder of its name, and knows the names and the bytes of its files. The list of all truths is in
// core/truths.ts. A chore is a loop over that list, so a truth that lacks a verb does not compile. Where a verb has
// no meaning, the truth says why. Writing is no verb: commit/encode-group.ts encodes a group for all truths in one
// place, because an append walks through every file that has a part in it.

/** The reason why a truth lacks a verb. */
export interface Cannot {
  readonly cannot: string;
}

export function cannot(because: string): Cannot {
  return { cannot: because };
}

/** Tells a verb from the reason for its absence. */
export function can<Verb>(verb: Verb | Cannot): verb is Verb {
  return !(typeof verb === 'object' && verb !== null && 'cannot' in verb);
}

/** A file that every store has, under one name. */
export interface OwnFile {
  readonly name: string;
  /** The header that the file begins with. A file without one begins empty. */
  readonly header?: { readonly magic: FileMagic; readonly recordBytes: number };
}

/** The values from which the index learns what a frame says. */
export interface Learning {
  readonly files: StoreFiles;
  readonly index: Index;
}

export interface Truth {
  readonly name: string;
  /** Folders that every store has, parents first. */
  readonly folders: readonly string[];
  readonly files: readonly OwnFile[];
  /** True for a file without a fixed name, such as a pack. */
  owns(path: string): boolean;
  /** The length that each file has at least. Only of files whose ends the tails know. */
  lengths(tails: Tails): Iterable<readonly [string, number]>;
  /** The tails after one more write to a file of this truth. Pure: recovery learns them from the frames. */
  advance(tails: Tails, write: JournalWrite): Tails;
  /** Tells the index about one write of a frame that it has not seen. */
  readonly replay: ((learning: Learning, write: JournalWrite) => Promise<void> | void) | Cannot;
  /** Tells the index about everything in the files. Damage is noted and skipped. */
  readonly rebuild: ((rebuild: Rebuild) => Promise<void>) | Cannot;
  /** Reports every problem with its place. Never throws for damage. */
  readonly check: (check: Check) => Promise<void>;
  /** Mends what a check found, as far as other truths know it. */
  readonly mend: Mending | Cannot;
  /** Copies the files beside writers. The frames of that time bring the copy to one moment. */
  readonly copy: Copy | Cannot;
}

export interface Mend {
  readonly writer: StateWriter;
  /** Everything that the check found. A truth picks what is its own. */
  readonly found: readonly Found[];
  readonly quarantine: Quarantine;
}

interface Mending {
  /** Whether the index must be right first. It is rebuilt after the files, if at all. */
  readonly after: 'nothing' | 'index';
  readonly run: (mend: Mend) => Promise<void>;
}

// Builds the index from the files alone. Memory stays bounded: files are read in pieces, and the index writes
// itself out as it fills. Damage is noted and skipped, so that everything else can still be found.

/** The values that every part of an index rebuild works with. */
export interface Rebuild {
  readonly files: StoreFiles;
  readonly tails: Tails;
  readonly index: Index;
  readonly damage: DamageReport;
  readonly progress: Progress | undefined;
  /** True for a turn that is still open: its empty slot in the file of turns is right. */
  readonly isOpenTurn: (id: number) => boolean;
  /** The newest turn of each context, by the turns themselves. 0 for none. */
  readonly newest: Uint32Array;
  /** Where heads were moved without a new turn. */
  readonly moves: Map<number, HeadMove>;
  /** True for a pack in which blobs were found before. */
  readonly isUsed: (pack: number) => boolean;
  /** The last known place of a context whose head is damaged. */
  readonly seen?: ((context: number) => ContextPlace | undefined) | undefined;
}
