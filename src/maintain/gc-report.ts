import type { Progress } from '../engine/engine.ts';
import type { SweepReport } from '../engine/upkeep.ts';

export interface GcOptions {
  /** Only report what would be removed. */
  readonly dryRun?: boolean;
  /** Blobs younger than this stay: their writer may be about to refer to them. Default 10 minutes. */
  readonly graceMs?: number;
  /** Also rewrite packs that are mostly alive, for the last dead byte. Default false. */
  readonly all?: boolean;
  readonly progress?: Progress;
}

export interface GcReport extends SweepReport {
  /** Blobs that something refers to. */
  readonly liveBlobs: number;
  /** Blobs that nothing refers to and that are older than the grace period. */
  readonly deadBlobs: number;
  /** The bytes that the dead blobs take in the store. */
  readonly deadBytes: number;
  /** Blobs that nothing refers to yet, spared for their age. */
  readonly youngBlobs: number;
  /** Sessions whose files could not be read. While there is one, every blob that has a SHA-256 stays. */
  readonly unread: readonly string[];
  readonly dryRun: boolean;
}
