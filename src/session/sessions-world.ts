import type { Engine } from '../engine/engine.ts';
import type { Io } from '../engine/io.ts';
import type { Registry } from './keep/registry.ts';

/** The context in which the verbs of sessions work. */
export interface SessionsWorld {
  readonly io: Io;
  readonly engine: Engine;
  readonly registry: Registry;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The folder for sessions that were given none; undefined for a store that is on another machine. */
  readonly root: string | undefined;
  /** The name of this machine, for a store that is on no machine or on another. */
  readonly host?: string | undefined;
  /**
   * True on a server, where any client with a token names sessions: a session is used only if its file is below `root`.
   */
  readonly confined?: boolean;
}
