import { Content, mixHashes } from './content.ts';
import {
  applyEntry,
  applyWrite,
  cleanFile,
  cleanFolder,
  dropSettled,
  foldSynced,
  ROOT,
  withPending,
} from './disk-state.ts';
import type {
  DiskSnapshot,
  FileState,
  FolderState,
  NodeId,
  NodeState,
  PendingEntry,
  PendingWrite,
} from './disk-state.ts';
import { errnoError } from './operation.ts';

// A disk in memory that knows which changes are certain.
//
// Invariants
// - A change is visible to reads at once, and uncertain until a sync that was called after the change had returned has
//   returned itself.
// - The visible content of a node is its durable state with all its pending changes, in order.
// - Snapshots never change: states are replaced, and durable content is not edited.

/** A call returns in the next microtask, after its effect and before the caller goes on. */
export const soon: Promise<void> = Promise.resolve();

/** The place of a name: the folder, and the node that the name stands for now. */
export interface Place {
  readonly folder: NodeId;
  readonly name: string;
  readonly node: NodeId | undefined;
}

export class Disk {
  readonly #states: NodeState[];
  // The content that reads see, where it differs from the durable state.
  readonly #contents: (Content | undefined)[] = [];
  readonly #names: (Map<string, NodeId> | undefined)[] = [];
  #clock = 0;
  #changes = 0;

  /** `states` may hold pending changes only in nodes without a name. */
  constructor(states: NodeState[] = [cleanFolder(new Map())]) {
    this.#states = states;
  }

  /** Grows whenever the states that a crash can leave behind change. */
  get changes(): number {
    return this.#changes;
  }

  snapshot(): DiskSnapshot {
    return this.#states.slice();
  }

  kindOf(node: NodeId): 'file' | 'folder' {
    return this.#state(node).kind;
  }

  namesOf(folder: NodeId): ReadonlyMap<string, NodeId> {
    return this.#names[folder] ?? this.#folder(folder).durable;
  }

  /** Returns the content for reading; only `write` and `truncate` may change it. */
  contentOf(file: NodeId): Content {
    return this.#contents[file] ?? this.#file(file).durable;
  }

  /** Returns the place of `path`. Throws ENOENT or ENOTDIR when a folder on the way does not exist. */
  locate(path: string): Place {
    let folder = ROOT;
    let name = '';
    let node: NodeId | undefined = ROOT;
    for (const next of namesIn(path)) {
      if (node === undefined) throw errnoError('ENOENT', path);
      if (this.kindOf(node) !== 'folder') throw errnoError('ENOTDIR', path);
      folder = node;
      name = next;
      node = this.namesOf(folder).get(name);
    }
    return { folder, name, node };
  }

  add(kind: 'file' | 'folder'): NodeId {
    return (
      this.#states.push(kind === 'file' ? cleanFile(new Content()) : cleanFolder(new Map())) - 1
    );
  }

  link(folder: NodeId, path: string, sets: PendingEntry['sets']): PendingEntry {
    const entry: PendingEntry = {
      do: 'entry',
      sets,
      seq: ++this.#changes,
      path,
      settledAt: Infinity,
      sure: false,
      dropped: false,
    };
    const state = this.#folder(folder);
    const names = (this.#names[folder] ??= new Map(state.durable));
    applyEntry(names, entry);
    const pending = withPending(state.pending, state.count, entry);
    this.#states[folder] = { ...state, pending, count: pending.length };
    return entry;
  }

  write(
    file: NodeId,
    path: string,
    { position, bytes }: { position: number; bytes: Uint8Array },
  ): PendingWrite {
    return this.#change(file, {
      do: 'write',
      position,
      bytes: new Uint8Array(bytes),
      seq: ++this.#changes,
      path,
      settledAt: Infinity,
      sure: false,
      dropped: false,
    });
  }

  truncate(file: NodeId, path: string, length: number): PendingWrite {
    return this.#change(file, {
      do: 'truncate',
      length,
      seq: ++this.#changes,
      path,
      settledAt: Infinity,
      sure: false,
      dropped: false,
    });
  }

  /** The call that made the change has returned. */
  settle(change: PendingEntry | PendingWrite): void {
    change.settledAt = this.#clock++;
  }

  /** The sync will cover the changes whose calls had returned before this moment. */
  beginSync(): number {
    return this.#clock++;
  }

  endSync(node: NodeId, calledAt: number): void {
    const state = this.#state(node);
    if (state.count === 0) return;
    this.#changes++;
    this.#states[node] =
      state.kind === 'file'
        ? this.#syncedFile(node, state, calledAt)
        : syncedFolder(state, calledAt);
  }

  /** Plays a failed sync: reads still see the bytes, and no later sync will write them. */
  loseUnsynced(node: NodeId): void {
    const state = this.#state(node);
    this.#states[node] =
      state.kind === 'file'
        ? { ...state, pending: dropSettled(state.pending) }
        : { ...state, pending: dropSettled(state.pending) };
    this.#changes++;
  }

  /** Returns the same disk with everything visible made durable, and `file` with other content if given. */
  copy(file?: NodeId, content?: Content): Disk {
    const states = this.#states.slice();
    for (const [node, names] of this.#names.entries()) {
      if (names !== undefined) states[node] = cleanFolder(new Map(names));
    }
    for (const [node, own] of this.#contents.entries()) {
      if (own !== undefined) states[node] = cleanFile(own.clone());
    }
    if (file !== undefined && content !== undefined) states[file] = cleanFile(content);
    return new Disk(states);
  }

  /** Two disks have equal hashes when every name and every byte that reads can see is equal. */
  hash(folder: NodeId = ROOT): number {
    let sum = 1;
    for (const [name, node] of this.namesOf(folder)) {
      const inner = this.kindOf(node) === 'file' ? this.contentOf(node).hash() : this.hash(node);
      // The hash is a sum, because the order of the names in the map says nothing.
      sum = (sum + mixHashes(hashName(name), inner)) % 2 ** 52;
    }
    return mixHashes(2, sum);
  }

  #change(file: NodeId, change: PendingWrite): PendingWrite {
    const state = this.#file(file);
    applyWrite((this.#contents[file] ??= state.durable.clone()), change);
    const pending = withPending(state.pending, state.count, change);
    this.#states[file] = { kind: 'file', durable: state.durable, pending, count: pending.length };
    return change;
  }

  #syncedFile(file: NodeId, state: FileState, calledAt: number): FileState {
    // Usually all changes are certain now, and then the visible content is the durable content.
    if (state.pending.every((write) => !write.dropped && write.settledAt < calledAt)) {
      return cleanFile(this.contentOf(file).clone());
    }
    const durable = state.durable.clone();
    const pending = foldSynced(state.pending, calledAt, (write) => applyWrite(durable, write));
    return { kind: 'file', durable, pending, count: pending.length };
  }

  #state(node: NodeId): NodeState {
    const state = this.#states[node];
    if (state === undefined) throw new RangeError(`there is no node ${node}`);
    return state;
  }

  #file(node: NodeId): FileState {
    const state = this.#state(node);
    if (state.kind !== 'file') throw new TypeError(`node ${node} is a folder`);
    return state;
  }

  #folder(node: NodeId): FolderState {
    const state = this.#state(node);
    if (state.kind !== 'folder') throw new TypeError(`node ${node} is a file`);
    return state;
  }
}

function syncedFolder(state: FolderState, calledAt: number): FolderState {
  const durable = new Map(state.durable);
  const pending = foldSynced(state.pending, calledAt, (entry) => applyEntry(durable, entry));
  return { kind: 'folder', durable, pending, count: pending.length };
}

/** Rigs use few paths very often, and splitting them was a tenth of their time. */
const splitPaths: Map<string, readonly string[]> = new Map();

function namesIn(path: string): readonly string[] {
  const known = splitPaths.get(path);
  if (known !== undefined) return known;
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  splitPaths.set(path, names);
  return names;
}

function hashName(name: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
