import type { Content } from './content.ts';

// The content of a disk, and the changes it could lose. A node is a file or a folder and has a number; folders give
// numbers names. The state of a node is replaced at every change and never edited, so that a snapshot of the disk is a
// copy of one array.

export type NodeId = number;

export const ROOT: NodeId = 0;

interface Pending {
  /** Place in the order of all changes to the disk. */
  readonly seq: number;
  /** The path that was used, for people. */
  readonly path: string;
  /** The time at which the call returned. A sync covers only changes whose calls had returned when it was called. */
  settledAt: number;
  /** A sync covered the change, but something before it in the same node is not certain. */
  readonly sure: boolean;
  /** A sync failed and took the change for clean: later syncs pass it over. */
  readonly dropped: boolean;
}

/** A change to a file. */
export type PendingWrite = Pending &
  (
    | { readonly do: 'write'; readonly position: number; readonly bytes: Uint8Array }
    | { readonly do: 'truncate'; readonly length: number }
  );

/** A change to the names in a folder: one name, or two of them at once for a rename. */
export interface PendingEntry extends Pending {
  readonly do: 'entry';
  readonly sets: readonly (readonly [name: string, node: NodeId | undefined])[];
}

export interface FileState {
  readonly kind: 'file';
  /** Content as of the last sync; never edited. */
  readonly durable: Content;
  /** Only the first `count` belong to this state: the array grows in place. */
  readonly pending: readonly PendingWrite[];
  readonly count: number;
}

export interface FolderState {
  readonly kind: 'folder';
  readonly durable: ReadonlyMap<string, NodeId>;
  readonly pending: readonly PendingEntry[];
  readonly count: number;
}

export type NodeState = FileState | FolderState;

/** Indexed by node. */
export type DiskSnapshot = readonly NodeState[];

export function cleanFile(durable: Content): FileState {
  return { kind: 'file', durable, pending: [], count: 0 };
}

export function cleanFolder(durable: ReadonlyMap<string, NodeId>): FolderState {
  return { kind: 'folder', durable, pending: [], count: 0 };
}

export function applyWrite(content: Content, write: PendingWrite): void {
  if (write.do === 'write') content.write(write.bytes, write.position);
  else content.resize(write.length);
}

export function applyEntry(names: Map<string, NodeId>, entry: PendingEntry): void {
  for (const [name, node] of entry.sets) {
    if (node === undefined) names.delete(name);
    else names.set(name, node);
  }
}

/** Returns the list with one more change. A state with nothing pending may share its empty list with other disks. */
export function withPending<P extends Pending>(pending: readonly P[], count: number, next: P): P[] {
  if (count === 0) return [next];
  const own = pending as P[];
  own.push(next);
  return own;
}

/**
 * After a sync called at `calledAt`, passes the changes that are certain from the start on to `apply`, and returns the
 * rest.
 */
export function foldSynced<P extends Pending>(
  pending: readonly P[],
  calledAt: number,
  apply: (change: P) => void,
): P[] {
  const rest: P[] = [];
  for (const change of pending) {
    const sure = change.sure || (!change.dropped && change.settledAt < calledAt);
    if (!sure) rest.push(change);
    else if (rest.length === 0) apply(change);
    else rest.push(change.sure ? change : { ...change, sure: true });
  }
  return rest;
}

/** After a failed sync, the changes that it should have covered count as clean and are not on the disk. */
export function dropSettled<P extends Pending>(pending: readonly P[]): P[] {
  return pending.map((change) =>
    change.sure || change.settledAt === Infinity ? change : { ...change, dropped: true },
  );
}
