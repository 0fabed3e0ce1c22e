import { decodeTime, isValid, ulid } from 'ulid';
import { checkWhole } from '../../base/check-value.ts';
import { invalid, notFound, orNothing } from '../../base/errors.ts';
import { isFields } from '../../base/fields.ts';
import { given } from '../../base/given.ts';
import { LruCache } from '../../base/lru-cache.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import { checkBounded, checkString, shown } from '../../base/text.ts';
import type { Store } from '../../store/store.ts';
import { contextsUnder, joinName, splitName, withRetries } from '../contexts.ts';
import type {
  Checkpoint,
  CheckpointListOptions,
  CheckpointOptions,
  NewCheckpoint,
  NewWrite,
  PendingWrite,
  ThreadName,
} from './checkpoint.ts';
import {
  type Change,
  type CheckpointRecord,
  type Piece,
  type Value,
  type WritesRecord,
  Values,
  type Fresh,
} from './values.ts';
import { Thread, startOf, type Saved } from './thread.ts';

// Checkpoints: the state of an agent after each of its steps. With them it continues after a crash, goes back, and
// tries another way.
// Invariants
// - What `save` and `addWrites` have stored survives a power cut.
// - Two checkpoints saved from one parent are two branches. Neither changes what the other reads.
// - A value that equals that of the parent is not stored again. A list is stored by its elements.
// - Any number of processes may save. A call sees what was saved before it began, whoever saved it.

/** Threads whose records stay in memory. */
const THREADS_MAX = 256;
const TEXT_BYTES_MAX = 1024;

export class Checkpoints {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #values: Values;
  readonly #threads = new LruCache<string, Thread>(THREADS_MAX, () => 1);
  readonly #writers = new OneAtATime<Thread>();

  constructor(store: Store, options: CheckpointOptions = {}) {
    this.#store = store;
    this.#prefix = options.prefix ?? 'checkpoints';
    this.#values = new Values(store, options);
  }

  /** Saves the state after a step, and returns its id. */
  async save(name: ThreadName, checkpoint: NewCheckpoint): Promise<string> {
    if (!isFields(checkpoint.values)) throw invalid('checkpoint.values', 'must be an object');
    const thread = this.#thread(name);
    return this.#writers.run(thread, async () => {
      if (checkpoint.parent === undefined) await thread.refresh();
      const { latest } = thread.known;
      const { parent = latest ?? null } = checkpoint;
      const { id = newId(latest ?? '', parent ?? '') } = checkpoint;
      checkBounded(id, 'checkpoint.id', TEXT_BYTES_MAX);
      const attempt = (): Promise<void> => this.#save(thread, id, parent, checkpoint);
      await withRetries(attempt, () => thread.refresh('all'));
      return id;
    });
  }

  /** Returns the newest checkpoint, or the one with this id. NOT_FOUND if it builds on a record that was erased. */
  async get(name: ThreadName, id?: string): Promise<Checkpoint | undefined> {
    const thread = this.#thread(name);
    await thread.refresh();
    const wanted = id ?? thread.known.latest;
    if (wanted !== undefined && !thread.known.saved.has(wanted)) await thread.refresh('all');
    const saved = thread.known.saved.get(wanted ?? '');
    return saved && this.#load(thread, saved);
  }

  /** Yields the checkpoints of a thread and of those within it, newest first. Without a name: of all threads. */
  async *list(
    within?: ThreadName,
    { before, where }: CheckpointListOptions = {},
  ): AsyncGenerator<Checkpoint> {
    const found: { id: string; saved: Saved; thread: Thread }[] = [];
    for (const name of await this.threads(within)) {
      const thread = this.#thread(name);
      await thread.refresh('all');
      for (const [id, saved] of thread.known.saved)
        if (before === undefined || id < before) found.push({ id, saved, thread });
    }
    for (const { saved, thread } of found.toSorted((a, b) => (a.id < b.id ? 1 : -1))) {
      const checkpoint = await this.#load(thread, saved, where);
      if (checkpoint !== undefined) yield checkpoint;
    }
  }

  /** Stores writes of a task beside a checkpoint, all or none. The checkpoint may be saved later. */
  async addWrites(
    name: ThreadName,
    checkpoint: string,
    task: string,
    writes: readonly NewWrite[],
  ): Promise<void> {
    const thread = this.#thread(name);
    checkBounded(checkpoint, 'checkpoint', TEXT_BYTES_MAX);
    const fresh: Fresh = new Map();
    const kept: WritesRecord['writes'][number][] = [];
    for (const [at, { name: of, value, number = at }] of writes.entries()) {
      checkWhole(number, 'number', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
      const change = await this.#values.change(value, fresh);
      if (change !== undefined) kept.push([number, checkString(of, 'name'), change]);
    }
    const record = { checkpoint, task: checkBounded(task, 'task', TEXT_BYTES_MAX), writes: kept };
    const attempt = (): Promise<void> => thread.addWrites(record, fresh);
    await withRetries(attempt, () => thread.refresh());
  }

  /** Returns the pending writes of a checkpoint, whether it was saved or not, in the order in which they came. */
  async writes(name: ThreadName, checkpoint: string): Promise<PendingWrite[]> {
    const thread = this.#thread(name);
    await thread.refresh();
    return this.#writesOf(thread, checkpoint);
  }

  /** Returns the names of a thread and of those within it. Without a name: of all threads. */
  async threads(within?: ThreadName): Promise<string[][]> {
    const starts = new Set((await this.#contextsIn(within)).map(({ name }) => startOf(name)));
    starts.delete('');
    return [...starts].map((start) => splitName(start).slice(1, -1));
  }

  /** Removes a thread and those within it. The next garbage collection frees the bytes. */
  async remove(name: ThreadName): Promise<void> {
    for (const context of await this.#contextsIn(name)) {
      await orNothing(() => this.#store.contexts.remove(context.id), 'NOT_FOUND');
      this.#threads.delete(startOf(context.name));
    }
  }

  async #save(
    thread: Thread,
    id: string,
    parent: string | null,
    { values, changed, details, metadata }: NewCheckpoint,
  ): Promise<void> {
    if (parent !== null && !thread.known.saved.has(parent)) await thread.refresh();
    const base = parent === null ? undefined : thread.known.saved.get(parent);
    const state = base?.state ?? new Map<string, never>();
    const differing = changed && new Set(changed);
    const fresh: Fresh = new Map();
    const changes: [string, Change | null][] = [];
    for (const name of state.keys()) if (!Object.hasOwn(values, name)) changes.push([name, null]);
    for (const [name, value] of Object.entries(values)) {
      const old = state.get(name);
      if (old !== undefined && differing?.has(name) === false) continue;
      const change = await this.#values.change(value, fresh, old);
      if (change !== undefined) changes.push([name, change]);
    }
    const whole = async (value: unknown): Promise<Piece | undefined> =>
      value === undefined ? undefined : this.#values.keep(value, fresh, Infinity);
    const record: CheckpointRecord = {
      ...given({ id, parent: parent ?? undefined }),
      ...given({ checkpoint: await whole(details), metadata: await whole(metadata) }),
      full: base?.state === undefined,
      values: changes,
    };
    await thread.save(base, record, fresh);
  }

  #thread(name: ThreadName): Thread {
    const parts = [this.#prefix, ...partsOf(name)];
    const start = joinName(...parts, '');
    const thread = this.#threads.get(start) ?? new Thread(this.#store, parts, this.#values);
    this.#threads.set(start, thread);
    return thread;
  }

  async #contextsIn(within?: ThreadName): ReturnType<typeof contextsUnder> {
    const parts = within === undefined ? [] : partsOf(within);
    return contextsUnder(this.#store, this.#prefix, ...parts);
  }

  async #load(
    thread: Thread,
    { record, state }: Saved,
    where: CheckpointListOptions['where'] = () => true,
  ): Promise<Checkpoint | undefined> {
    const { id, parent } = record;
    const metadata = await this.#read(record.metadata);
    const header = { thread: thread.name, id, ...given({ parent, metadata }) };
    if (!where(header)) return undefined;
    if (state === undefined)
      throw notFound('checkpoint', id, `checkpoint ${id} builds on one that was erased`);
    const details = await this.#read(record.checkpoint);
    const values: [string, unknown][] = [];
    for (const [name, value] of state) values.push([name, await this.#read(value)]);
    const writes = await this.#writesOf(thread, id);
    return { ...header, ...given({ details }), values: Object.fromEntries(values), writes };
  }

  async #writesOf(thread: Thread, checkpoint: string): Promise<PendingWrite[]> {
    const writes: PendingWrite[] = [];
    for (const [task, name, value] of thread.known.writes.get(checkpoint)?.values() ?? [])
      writes.push({ task, name, value: await this.#read(value) });
    return writes;
  }

  async #read(value?: Value): Promise<unknown> {
    return value === undefined ? undefined : this.#values.load(value);
  }
}

function partsOf(name: ThreadName): string[] {
  const parts = typeof name === 'string' ? [name] : name;
  if (Array.isArray(parts) && parts[0] !== '' && parts.length > 0)
    return parts.map((part) => checkString(part, 'thread'));
  throw invalid('thread', `must be a name, or a list of names, got ${shown(name)}`);
}

/** Returns an id that sorts behind both, also if a clock was set back since. */
function newId(latest: string, parent: string): string {
  const last = latest > parent ? latest : parent;
  const id = ulid();
  return id > last || !isValid(last) ? id : ulid(decodeTime(last) + 1);
}
