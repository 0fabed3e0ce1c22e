// The records of the saver for LangGraph, and the values that they lead to.

/** A value: `=` and its JSON, or its serialisation, a colon and the hash of its blob. */
export type Piece = string;
/** The pieces that stay at the start and at the end of the list before, and those between them. */
type ListChange = readonly [keep: number, tail: number, ...added: Piece[]];
export type Change = Piece | ListChange;

export const CHECKPOINT = 'langgraph.checkpoint';
export const WRITES = 'langgraph.writes';
/** Says in the log that the branch with this number gets its first turn. */
export const BRANCH = 'langgraph.branch';
/** A turn that holds a long value. */
export const VALUE = 'langgraph.value';

export interface CheckpointRecord {
  readonly id: string;
  readonly parent?: string;
  /** True when nothing is taken over from the checkpoint before. */
  readonly full: boolean;
  readonly checkpoint: Piece;
  readonly metadata: Piece;
  /** Null for a channel that is gone. */
  readonly values: readonly (readonly [channel: string, change: Change | null])[];
}

export interface WritesRecord {
  readonly checkpoint: string;
  readonly task: string;
  readonly writes: readonly (readonly [index: number, channel: string, value: Change])[];
}

/** False for what another program appended with the type of a checkpoint. */
export function isCheckpoint(payload: unknown): payload is CheckpointRecord {
  const { id, values } = Object(payload) as { readonly id?: unknown; readonly values?: unknown };
  return typeof id === 'string' && isList(values) && values.every((each) => hasChange(each, 1));
}

/** The same for pending writes. */
export function isWrites(payload: unknown): payload is WritesRecord {
  const { writes } = Object(payload) as { readonly writes?: unknown };
  return isList(writes) && writes.every((each) => hasChange(each, 2));
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function hasChange(entry: unknown, at: number): boolean {
  const change = isList(entry) ? entry[at] : undefined;
  return change === null || typeof change === 'string' || isList(change);
}

/** A list is kept by its elements. Pieces from `length` on belong to longer lists, which share the array. */
export interface List {
  readonly pieces: Piece[];
  readonly length: number;
}
export type Value = Piece | List;

/** The values of all channels. */
export type State = ReadonlyMap<string, Value>;

/** Returns the values after a checkpoint; undefined when a record that they build on was erased. */
export function stateAfter(
  before: State | undefined,
  { full, values }: Pick<CheckpointRecord, 'full' | 'values'>,
): State | undefined {
  if (!full && before === undefined) return undefined;
  const state = new Map(full ? [] : before);
  for (const [channel, change] of values) {
    if (change === null) state.delete(channel);
    else state.set(channel, changed(change, state.get(channel)));
  }
  return state;
}

/** Returns the value after a change. A list that only grows shares its array: all of them together take one. */
export function changed(change: Change, before?: Value): Value {
  if (typeof change === 'string') return change;
  const [keep, tail, ...added] = change;
  const old = typeof before === 'object' ? before : { pieces: [], length: 0 };
  const rest = old.pieces.slice(old.length - tail, old.length);
  const pieces = keep === old.pieces.length ? old.pieces : old.pieces.slice(0, keep);
  // One by one: the arguments of a call have a bound, and a list may be longer.
  for (const piece of added) pieces.push(piece);
  for (const piece of rest) pieces.push(piece);
  return { pieces, length: pieces.length };
}
