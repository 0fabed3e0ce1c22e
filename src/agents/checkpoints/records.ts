import { isFields } from '../../base/fields.ts';

// The records of a thread (docs/format/checkpoints.md), and the values that they lead to.

/** A value: `=` and its JSON, or its form, a colon and the hash of its blob. */
export type Piece = string;
/** The pieces that stay at the start and at the end of the list before, and those between them. */
type ListChange = readonly [keep: number, tail: number, ...added: Piece[]];
export type Change = Piece | ListChange;

export interface CheckpointRecord {
  readonly id: string;
  readonly parent?: string;
  /** True when nothing is taken over from the checkpoint before. */
  readonly full: boolean;
  /** The details. */
  readonly checkpoint?: Piece;
  readonly metadata?: Piece;
  /** Null for a value that is gone. */
  readonly values: readonly (readonly [name: string, change: Change | null])[];
}

export interface WritesRecord {
  readonly checkpoint: string;
  readonly task: string;
  readonly writes: readonly (readonly [number: number, name: string, value: Change])[];
}

/** False for what another program appended with the type of a checkpoint. */
export function isCheckpoint(payload: unknown): payload is CheckpointRecord {
  return isFields(payload) && typeof payload['id'] === 'string' && areChanges(payload['values'], 1);
}

/** The same for pending writes. */
export function isWrites(payload: unknown): payload is WritesRecord {
  return isFields(payload) && areChanges(payload['writes'], 2);
}

function areChanges(entries: unknown, at: number): boolean {
  const isChange = (change: unknown): boolean =>
    change === null || typeof change === 'string' || Array.isArray(change);
  const hasOne = (entry: unknown): boolean => Array.isArray(entry) && isChange(entry[at]);
  return Array.isArray(entries) && entries.every(hasOne);
}

/** A list is kept by its elements. Pieces from `length` on belong to longer lists, which share the array. */
export interface List {
  readonly pieces: Piece[];
  readonly length: number;
}
export type Value = Piece | List;

/** All values, by name. */
export type State = ReadonlyMap<string, Value>;

/** Returns the values after a checkpoint; undefined when a record that they build on was erased. */
export function stateAfter(
  before: State | undefined,
  { full, values }: Pick<CheckpointRecord, 'full' | 'values'>,
): State | undefined {
  if (!full && before === undefined) return undefined;
  const state = new Map(full ? [] : before);
  for (const [name, change] of values) {
    if (change === null) state.delete(name);
    else state.set(name, changed(change, state.get(name)));
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
