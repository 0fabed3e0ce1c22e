import type { EngineStats, Progress } from '../engine/engine.ts';

export interface Stats extends EngineStats {
  /** Payload bytes as written by callers, per byte that they take on disk. */
  readonly dedupRatio: number;
}

export interface Maintain {
  stats(): Promise<Stats>;
  /** Makes the next opening fast; never needed for safety. */
  checkpoint(): Promise<void>;
  /** Rebuilds every accelerator from the truth. */
  reindex(progress?: Progress): Promise<void>;
}
