import type { Hash, TurnId } from '../base/brand.ts';
import type { Adoption, Records } from './adoption.ts';
import type { Change } from './batch.ts';
import type { Progress } from './progress.ts';

// What keeps a store healthy, as far as an engine must do it. The decisions (what is alive, what may
// go, what to report) are made above; an engine offers a view to decide by and carries a plan out.

/** A turn as the mark sees it. */
export interface TurnEdge {
  readonly id: TurnId;
  readonly parent: TurnId;
  readonly payload: Hash;
}

export interface PatchEdge {
  readonly turn: TurnId;
  readonly payload: Hash;
  /** The payload is the turn's file-system root: what the tree names is used, too. */
  readonly fsRoot: boolean;
}

export interface BlobEntry {
  readonly hash: Hash;
  /** What it takes in the store, record overhead included. */
  readonly storedBytes: number;
  /** Stored before the grace period began: only such a blob may go. */
  readonly old: boolean;
  /** It is stored as a list of chunks, which live as long as it does. */
  readonly chunked: boolean;
}

export interface SweepPlan {
  /** Asked for every old blob, again right before it goes: the answer may turn to true, never back. */
  isLive(hash: Hash): boolean;
  isLiveTurn(turn: TurnId): boolean;
  /** Awaited between two commits before each step that removes blobs: the answers are final after it. */
  settle?(): Promise<void>;
  /**
   * A number that rises whenever answers of `isLive` may have turned to true, other than for blobs that
   * were noted themselves. Without it, everything that was dead is asked for once more before it goes.
   */
  changes?(): number;
  /** Rewrite packs in which at least this share of the bytes is dead; 0: all that have any. */
  readonly deadShare: number;
}

export interface SweepReport {
  readonly removedBlobs: number;
  /** What the store is smaller by. */
  readonly freedBytes: number;
  /** Dead bytes that stay for now: their packs are mostly alive, or there was no room to copy. */
  readonly keptDeadBytes: number;
  /** Packs left alone because the disk had no room for the copy. */
  readonly skippedForSpace: number;
}

/**
 * One collection at a time (LOCKED otherwise). From its start to its end every blob and turn that a
 * commit relies on is reported through `noted`, before that commit is acknowledged.
 */
export interface Collection {
  /** Turns appended from this id on are alive whatever the mark finds. */
  readonly firstNewTurn: TurnId;
  /** Sealed turns with smaller ids, newest first, in pages. */
  turns(): AsyncIterable<readonly TurnEdge[]>;
  /** Turns that were open when it began: alive, whatever the mark finds. */
  readonly openTurns: readonly TurnId[];
  /** Newest first. Of the file-system roots of a turn only the one that counts is among them. */
  patches(): AsyncIterable<readonly PatchEdge[]>;
  blobs(): AsyncIterable<readonly BlobEntry[]>;
  /** Throws CORRUPT when the list cannot be read: then nothing may be swept. */
  chunksOf(hash: Hash): Promise<readonly Hash[]>;
  /** Carries the plan out beside readers and writers. Interrupted at any point, nothing alive is gone. */
  sweep(plan: SweepPlan, progress?: Progress): Promise<SweepReport>;
  end(): Promise<void>;
}

export interface CollectionOptions {
  /** Blobs younger than this stay: whoever put them may be about to refer to them. */
  readonly graceMs: number;
  readonly noted: {
    blob(hash: Hash): void;
    /** A commit relies on this turn, and so on its whole chain. */
    turn(turn: TurnId): void;
    /**
     * For engines whose listeners hear of a commit later than it is acknowledged: every commit since the
     * collection began, before the step of a sweep that could take what it needs.
     */
    change?(change: Change): void;
  };
}

/** One thing that is wrong, and where. */
export interface Problem {
  readonly what: string;
  readonly file: string;
  readonly offset: number;
  /** The turn, context, blob, log or document it concerns, where that is known. */
  readonly id?: string;
  /** `lost`: data cannot be read. `stale`: an accelerator or output is wrong and can be made again. */
  readonly severity: 'lost' | 'stale';
}

export interface CheckCounts {
  readonly turns: number;
  readonly contexts: number;
  readonly patches: number;
  readonly blobs: number;
  readonly docs: number;
  readonly logs: number;
  readonly bytes: number;
}

export interface CheckReport {
  readonly checked: CheckCounts;
  readonly problems: readonly Problem[];
  /** Problems beyond the ones listed. */
  readonly more: number;
  /** Set aside by a repair: files below `quarantine/` that hold damaged bytes. The problems are told all the same. */
  readonly quarantined: readonly string[];
}

export interface CheckOptions {
  /** Make again what can be made again; copy damaged records to `quarantine/` first. What is lost is told again. */
  readonly repair: boolean;
  readonly progress?: Progress;
}

export interface EraseReport {
  readonly hash: Hash;
  /** False when others use the blob: then nothing was erased. */
  readonly erased: boolean;
  /** Turns that use the blob, as payload, through a patch or as file-system root; at most 1,000 of them. */
  readonly usedBy: readonly TurnId[];
  /** Threads of other kinds that need it, at most 1,000; not looked for when it goes everywhere. */
  readonly neededBy: readonly BlobNeed[];
}

/** Who needs a blob that is none of a turn's. Of threads that share a history, one is named. */
export interface BlobNeed {
  /** `chats`, `workflows` or `sessions`. */
  readonly kind: string;
  /** The chat, the workflow or its bundle, the session. */
  readonly id: string;
}

/** Another text for a line of a log: JSON that takes no more bytes than the line it replaces. */
export interface LineErasure {
  /** The first is 0. */
  readonly line: number;
  readonly text: string;
}

export interface BackupReport {
  readonly files: number;
  readonly copiedBytes: number;
  /** Bytes that were there from the backup before. */
  readonly reusedBytes: number;
}

/** The part of an engine that `maintain` works with. */
export interface Upkeep {
  startCollection(options: CollectionOptions): Promise<Collection>;
  check(options: CheckOptions): Promise<CheckReport>;
  /** Removes the bytes of a blob from every file at once; its hash stays known as erased. */
  eraseBlob(hash: Hash): Promise<void>;
  /**
   * Puts other texts in the place of these lines, each padded with spaces to the length of the line it
   * replaces, so that nothing else moves. When it resolves, no file has the old lines any more. INVALID
   * for a text that is longer, NOT_FOUND for a line that is not there: then nothing was changed.
   * Interrupted, it has replaced some of them, each as a whole.
   */
  eraseLines(log: string, erasures: readonly LineErasure[]): Promise<void>;
  /** A consistent copy into a folder; a second run copies only what is new. */
  backup(to: string, progress?: Progress): Promise<BackupReport>;
  /** For whoever makes a copy of the store. */
  readonly records: Records;
  /** Takes over records of another store as they are: one commit, see `adoption.ts`. */
  adopt(adoption: Adoption): Promise<void>;
}
