import type { Hash } from '../base/brand.ts';
import type { Lifetime } from '../base/lifetime.ts';
import type { OneAtATime } from '../base/one-at-a-time.ts';
import type { Engine } from '../engine/engine.ts';

/** Reads the text at an `artifact://…` address, of the session given first. A QuipuError tells why there is none. */
export type ReadArtifact = (url: string, session: string | undefined) => Promise<string>;

/** The context in which every verb of workflows works. */
export interface WorkflowWorld {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Changes of one index wait for each other here rather than collide in the engine. */
  readonly changes: OneAtATime<Hash>;
  /** The time that a bundle may take to load, to choose the next role and to extract. */
  readonly quickMs: number;
  /** Absent where there are no sessions. */
  readonly readArtifact?: ReadArtifact | undefined;
}
