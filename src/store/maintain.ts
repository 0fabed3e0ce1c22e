import type { Jsonable } from '../base/jsonable.ts';
import type { EngineStats, Progress } from '../engine/engine.ts';
import type { BackupReport } from '../engine/upkeep.ts';
import type { GcOptions, GcReport } from '../maintain/collect-garbage.ts';
import type { RetainReport, RetentionPolicy } from '../maintain/retain-contexts.ts';
import type { VerifyOptions, VerifyReport } from '../maintain/verify-store.ts';

export interface Stats extends EngineStats {
  /**
   * Payload bytes of all turns per byte of distinct blobs: how much is saved because equal payloads are kept once. 1 when
   * nothing is shared. Blobs that are no payloads count among the blobs, so the real figure may be higher.
   */
  readonly sharingRatio: number;
  /** Bytes of distinct blobs per byte that they take on disk: how much compression saves. */
  readonly compressionRatio: number;
}

/** One of `gc`, `verify`, `backup` and the erasures runs at a time; another one gets LOCKED. */
export interface Maintain {
  stats(): Promise<Stats>;
  /** Makes the next opening fast; never needed for safety. */
  checkpoint(): Promise<void>;
  /** Rebuilds every accelerator from the truth. */
  reindex(progress?: Progress): Promise<void>;
  /**
   * Removes blobs and turns that no context, workflow thread, pin or patch leads to, while readers and writers go on.
   * Stops, and removes nothing, when something that may be in use cannot be read.
   */
  gc(options?: GcOptions): Promise<GcReport>;
  /** Reads everything and checks every checksum, hash and link. */
  verify(options?: VerifyOptions): Promise<VerifyReport>;
  /** Makes a consistent copy in the folder `to`; a second run copies only new data. */
  backup(to: string, progress?: Progress): Promise<BackupReport>;
  /** Removes contexts by age, size and label; `gc` then frees the data that only they led to. */
  retain(
    policy: RetentionPolicy,
    options?: { readonly dryRun?: boolean },
  ): Promise<Jsonable<RetainReport>>;
}
