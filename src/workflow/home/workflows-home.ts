import { shown } from '../../base/text.ts';
import { ulid } from 'ulid';
import type { Hash } from '../../base/brand.ts';
import { invalid } from '../../base/errors.ts';
import type { Lifetime } from '../../base/lifetime.ts';
import type { LruCache } from '../../base/lru-cache.ts';
import type { OneAtATime } from '../../base/one-at-a-time.ts';
import type { Engine } from '../../engine/engine.ts';

/** Reads the text at an `artifact://…` address, of the session given first. A QuipuError tells why there is none. */
export type ReadArtifact = (url: string, session: string | undefined) => Promise<string>;

/** The store that workflows are kept in. */
export interface WorkflowsHome {
  readonly engine: Engine;
  readonly lifetime: Lifetime;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Changes of one index wait for each other here rather than collide in the engine. */
  readonly changes: OneAtATime<Hash>;
  /** Rounds used up to a state, by its hash. */
  readonly rounds: LruCache<Hash, number>;
  /** The time that a bundle may take to load, to choose the next role and to extract. */
  readonly quickMs: number;
  /** Absent where there are no sessions. */
  readonly readArtifact?: ReadArtifact | undefined;
}

declare const brand: unique symbol;
/** A ULID: 26 characters that sort by the time the thread was made. */
export type ThreadId = string & { readonly [brand]: 'ThreadId' };

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

export function isThreadId(text: unknown): text is ThreadId {
  return typeof text === 'string' && ULID.test(text);
}

/** The only way from text to `ThreadId`. */
export function toThreadId(text: string): ThreadId {
  if (isThreadId(text)) return text;
  throw invalid('thread id', `must be a ULID of 26 characters, got ${shown(text)}`);
}

export function newThreadId(nowMs: number): ThreadId {
  return toThreadId(ulid(nowMs));
}
