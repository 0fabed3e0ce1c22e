import type { Engine } from '../../engine/engine.ts';
import type { Progress } from '../../engine/progress.ts';
import type { QueueRecords } from '../../queue/upkeep/queue-records.ts';

/** The parts that every step of a copy works with. */
export interface Pair<T = Engine> {
  readonly from: T;
  readonly to: T;
  readonly progress: Progress;
  /** Throws when the copy must end here. Called between two steps, never within one. */
  readonly pause: () => void;
}

export type QueuePair = Pair<QueueRecords>;
