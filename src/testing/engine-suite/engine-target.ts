import type { Engine, EngineCapabilities } from '../../engine/engine.ts';

export interface EngineOpening {
  /** Milliseconds since 1970; the machine's clock when absent. */
  readonly clock?: () => number;
}

/** An engine under test. */
export interface EngineTarget {
  readonly name: string;
  readonly capabilities: EngineCapabilities;
  /** How many random cases each comparison goes through, default 25: fewer where each call takes long. */
  readonly randomRuns?: number;
  /** A store of its own, fresh and empty. */
  open(opening?: EngineOpening): Promise<Engine>;
  /** Opens again what `engine` was opened on, after `engine` was closed. */
  reopen?(engine: Engine, opening?: EngineOpening): Promise<Engine>;
}
