import type { Hash, TurnId } from '../base/brand.ts';
import type { Adoption, Records } from './adoption.ts';
import type { Change } from './batch.ts';
import type { Progress } from './progress.ts';

// The engine's part of keeping a store healthy. The layer above decides what is alive, what may go and what to
// report. An engine offers a view for these decisions and carries a plan out.

/** A turn as the mark sees it. */
export interface TurnEdge {
  readonly id: TurnId;
  readonly parent: TurnId;
  readonly payload: Hash;
}

export interface PatchEdge {
  readonly turn: TurnId;
  readonly payload: Hash;
  /** True when the payload is the turn's file-system root: the blobs that the tree names are used, too. */
  readonly fsRoot: boolean;
}

export interface BlobEntry {
  readonly hash: Hash;
  /** The bytes of the blob itself. */
  readonly size: number;
  /** The bytes that the blob takes in the store, record overhead included. */
  readonly storedBytes: number;
  /** True when the blob was stored before the grace period began. Only such a blob may go. */
  readonly old: boolean;
  /** True when the blob is stored as a list of chunks, which live as long as the blob. */
  readonly chunked: boolean;
}

export interface SweepPlan {
  /** Asked for every old blob, and again right before the blob goes. The answer may turn to true, never back. */
  isLive(hash: Hash): boolean;
  isLiveTurn(turn: TurnId): boolean;
  /** Awaited between two commits before each step that removes blobs. The answers are final after it. */
  settle?(): Promise<void>;
  /**
   * A number that rises whenever answers of `isLive` may have turned to true, except for blobs that a commit
   * relies on. Without it, the sweep asks once more for every dead blob before it goes.
   */
  changes?(): number;
  /** Rewrite packs in which at least this share of the bytes is dead; 0: all that have any. */
  readonly deadShare: number;
}

export interface SweepReport {
  readonly removedBlobs: number;
  /** The number of bytes by which the store shrank. */
  readonly freedBytes: number;
  /** Dead bytes that stay for now: their packs are mostly alive, or there was no room to copy. */
  readonly keptDeadBytes: number;
  /** Packs left alone because the disk had no room for the copy. */
  readonly skippedForSpace: number;
}

/**
 * Only one collection runs at a time (LOCKED otherwise). From its start to its end, `reliance` is told of every
 * blob and turn that a commit relies on.
 */
export interface Collection {
  /** Turns appended from this id on are alive whatever the mark finds. */
  readonly firstNewTurn: TurnId;
  /** Sealed turns with smaller ids, newest first, in pages. */
  turns(): AsyncIterable<readonly TurnEdge[]>;
  /** Turns that were open when the collection began. They are alive, whatever the mark finds. */
  readonly openTurns: readonly TurnId[];
  /** Newest first. Of the file-system roots of a turn, only the one that counts is listed. */
  patches(): AsyncIterable<readonly PatchEdge[]>;
  blobs(): AsyncIterable<readonly BlobEntry[]>;
  /** Throws CORRUPT when the list cannot be read. Then nothing may be swept. */
  chunksOf(hash: Hash): Promise<readonly Hash[]>;
  /** Carries the plan out beside readers and writers. An interruption at any point loses nothing that is alive. */
  sweep(plan: SweepPlan, progress?: Progress): Promise<SweepReport>;
  end(): Promise<void>;
}

/** Told of everything that a commit relies on while a collection runs, before the commit is acknowledged. */
export interface Reliance {
  blob(hash: Hash): void;
  /** A commit relies on this turn, and so on its whole chain. */
  turn(turn: TurnId): void;
  /**
   * For engines whose listeners hear of a commit after it is acknowledged. Reports every commit since the
   * collection began, before the step of a sweep that could take what the commit needs.
   */
  change?(change: Change): void;
}

export interface CollectionOptions {
  /** Blobs younger than this stay: their writer may be about to refer to them. */
  readonly graceMs: number;
  readonly reliance: Reliance;
}

/** One thing that is wrong, and where. */
export interface Problem {
  readonly what: string;
  readonly file: string;
  readonly offset: number;
  /** The turn, context, blob, log or document with the problem, where known. */
  readonly id?: string;
  /** `lost`: data cannot be read. `stale`: an accelerator or output is wrong and can be made again. */
  readonly severity: 'lost' | 'stale';
}

export type CheckCounts = Readonly<
  Record<'turns' | 'contexts' | 'patches' | 'blobs' | 'docs' | 'logs' | 'bytes', number>
>;

export interface CheckReport {
  readonly checked: CheckCounts;
  readonly problems: readonly Problem[];
  /** Problems beyond the ones listed. */
  readonly more: number;
  /** Files below `quarantine/` that hold damaged bytes, set aside by a repair. The problems are still listed. */
  readonly quarantined: readonly string[];
}

export interface CheckOptions {
  /**
   * True to rebuild what can be rebuilt. Damaged records are copied to `quarantine/` first. Lost data is reported
   * again.
   */
  readonly repair: boolean;
  readonly progress?: Progress;
}

export interface EraseReport {
  readonly hash: Hash;
  /** False when others use the blob: then nothing was erased. */
  readonly erased: boolean;
  /** Turns that use the blob, as payload, through a patch or as file-system root; at most 1,000 of them. */
  readonly usedBy: readonly TurnId[];
  /** Threads of other kinds that need the blob, at most 1,000. Not searched when the blob goes everywhere. */
  readonly neededBy: readonly BlobNeed[];
}

/** A thread that needs a blob other than through a turn. Of threads that share a history, one is named. */
export interface BlobNeed {
  /** `chats`, `workflows` or `sessions`. */
  readonly kind: string;
  /** The chat, the workflow or its bundle, the session. */
  readonly id: string;
}

/** A new text for a line of a log: JSON that takes no more bytes than the line it replaces. */
export interface LineErasure {
  /** The number of the line. The first is 0. */
  readonly line: number;
  readonly text: string;
}

/** Files that were copied beside the engine's own. */
export interface FileCopies {
  readonly files: number;
  readonly bytes: number;
}

export interface BackupReport {
  readonly files: number;
  readonly copiedBytes: number;
  /** Bytes that were already there from the backup before. */
  readonly reusedBytes: number;
}

/** The report of a backup or restore, with the files beside the engine's own. */
export function withCopies(report: BackupReport, copies: readonly FileCopies[]): BackupReport {
  return copies.reduce(
    (sum, { files, bytes }) => ({
      ...sum,
      files: sum.files + files,
      copiedBytes: sum.copiedBytes + bytes,
    }),
    report,
  );
}

/** The part of an engine that `maintain` works with. */
export interface Upkeep {
  startCollection(options: CollectionOptions): Promise<Collection>;
  check(options: CheckOptions): Promise<CheckReport>;
  /** Removes the bytes of a blob from every file at once. Its hash stays known as erased. */
  eraseBlob(hash: Hash): Promise<void>;
  /**
   * Replaces these lines with other texts. Each text is padded with spaces to the length of the line it replaces,
   * so nothing else moves. When the call resolves, no file has the old lines any more. INVALID for a text that is
   * longer, NOT_FOUND for a missing line: then nothing was changed. An interrupted call has replaced some of the
   * lines, each as a whole.
   */
  eraseLines(log: string, erasures: readonly LineErasure[]): Promise<void>;
  /**
   * A consistent copy into a folder; a second run copies only what is new. `also` copies what does not go through the
   * engine: the backup counts as made when `also` has resolved.
   */
  backup(to: string, progress?: Progress, also?: () => Promise<void>): Promise<BackupReport>;
  /** The reads for making a copy of the store. */
  readonly records: Records;
  /** Takes over records of another store as they are: one commit, see `adoption.ts`. */
  adopt(adoption: Adoption): Promise<void>;
}
