import type { Engine } from '../../engine/engine.ts';
import type { Progress } from '../../engine/progress.ts';

/** What every step of a copy works with. */
export interface Pair {
  readonly from: Engine;
  readonly to: Engine;
  readonly progress: Progress;
  /** Throws when the copy shall end here. Called between two steps, never within one. */
  readonly pause: () => void;
}
