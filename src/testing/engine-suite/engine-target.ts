import type { Engine, EngineCapabilities } from '../../engine/engine.ts';

export interface EngineOpening {
  /** Milliseconds since 1970; the machine's clock when absent. */
  readonly clock?: () => number;
}

/** An engine under test. */
export interface EngineTarget {
  readonly name: string;
  readonly capabilities: EngineCapabilities;
  /** The number of random cases of each comparison, default 25: fewer where each call takes long. */
  readonly randomRuns?: number;
  /** Opens a fresh and empty store. */
  open(opening?: EngineOpening): Promise<Engine>;
  /** Opens the place of `engine` again, after `engine` was closed. */
  reopen?(engine: Engine, opening?: EngineOpening): Promise<Engine>;
}
