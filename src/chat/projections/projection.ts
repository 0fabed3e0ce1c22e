import type { ChatEvent } from '../events/event.ts';

/**
 * A reading of a chat: a fold over its events, from the first on. A projection must give the same state for the same
 * events, whether they come at once or in pieces. So it depends on nothing else: no clock, no chance, no disk.
 */
export interface Projection<S> {
  readonly name: string;
  /** Raise the version when the same events give another state; older snapshots are not used then. */
  readonly version: number;
  initial(): S;
  /** Returns the state after `event`. The method owns `state`, and may change it and return it. */
  apply(state: S, event: ChatEvent): S;
  /** Turns the state into JSON, when it is not JSON already, and back. */
  freeze?(state: S): unknown;
  thaw?(frozen: unknown): S;
}

/** A state to go on from, for a caller that keeps it. A snapshot is a cache: the log alone is the truth. */
export interface Snapshot {
  readonly name: string;
  readonly version: number;
  /** The last event in the state. */
  readonly seq: number;
  readonly state: unknown;
}

export function fold<S>(projection: Projection<S>, events: Iterable<ChatEvent>, from?: S): S {
  let state = from ?? projection.initial();
  for (const event of events) state = projection.apply(state, event);
  return state;
}

export function takeSnapshot<S>(projection: Projection<S>, state: S, seq: number): Snapshot {
  const { name, version } = projection;
  return { name, version, seq, state: projection.freeze?.(state) ?? state };
}

/** Returns undefined when the snapshot is of another projection or version. */
export function fromSnapshot<S>(projection: Projection<S>, snapshot: Snapshot): S | undefined {
  const { name, version } = projection;
  if (snapshot.name !== name || snapshot.version !== version) return undefined;
  // This is a copy: a fold may change the state it is given.
  const state = structuredClone(snapshot.state);
  return projection.thaw === undefined ? (state as S) : projection.thaw(state);
}
