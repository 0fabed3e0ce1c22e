import type { DriverName } from '../drivers/driver.ts';
import type { MixName } from '../mixes.ts';

/** What one process is asked to measure. `size` and `from` mean what the workload says they mean. */
export interface Trial {
  readonly workload: WorkloadName;
  readonly driver: DriverName;
  readonly folder: string;
  readonly size: number;
  readonly payloadBytes: number;
  readonly from?: number;
  /** What payloads are like, where it matters. */
  readonly mix?: MixName;
}

/** Figures by name, with the unit at the end of the name. */
export type Result = Readonly<Record<string, number>>;

export type Workload = (trial: Trial) => Promise<Result>;

export type WorkloadName =
  | 'append-one'
  | 'append-many'
  | 'echo'
  | 'last-turns'
  | 'grow'
  | 'open'
  | 'fork'
  | 'range'
  | 'sessions'
  | 'blob'
  | 'sink'
  | 'import'
  | 'search-fill'
  | 'search'
  | 'fill-half-dead'
  | 'gc'
  | 'fill-mix'
  | 'verify'
  | 'backup'
  | 'queue-push'
  | 'queue-batch'
  | 'queue-command'
  | 'queue-read'
  | 'grow-chat'
  | 'use-chat'
  | 'database'
  | 'langgraph'
  | 'page'
  | 'watch'
  | 'watch-database'
  | 'conversation';
