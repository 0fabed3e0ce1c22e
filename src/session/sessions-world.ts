import type { Engine } from '../engine/engine.ts';
import type { Io } from '../engine/io.ts';
import type { Registry } from './keep/registry.ts';

/** What the verbs of sessions work with. */
export interface SessionsWorld {
  readonly io: Io;
  readonly engine: Engine;
  readonly registry: Registry;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Where sessions go that were given no folder; undefined for a store that is on another machine. */
  readonly root: string | undefined;
  /** The name of this machine, for a store that is on none or on another. */
  readonly host?: string | undefined;
  /** True on a server, where whoever has a token names sessions: none is used whose file is not below `root`. */
  readonly confined?: boolean;
}
