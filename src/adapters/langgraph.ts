import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  TASKS,
  WRITES_IDX_MAP,
  getCheckpointId,
  maxChannelVersion,
} from '@langchain/langgraph-checkpoint';
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointPendingWrite,
  CheckpointTuple,
  PendingWrite,
  SerializerProtocol,
} from '@langchain/langgraph-checkpoint';
import { invalid, notFound } from '../base/errors.ts';
import { LruCache } from '../base/lru-cache.ts';
import { OneAtATime } from '../base/one-at-a-time.ts';
import type { Store } from '../store/store.ts';
import { BATCH_TURNS, contextsUnder, joinName, splitName, withRetries } from './shared.ts';
import { CHECKPOINT, Thread, WRITES, changesOf } from './langgraph-thread.ts';
import type { CheckpointRecord, WritesRecord } from './langgraph-thread.ts';
import { Values } from './langgraph-values.ts';
import type { Fresh, Value } from './langgraph-values.ts';

export { QuipuStore } from './langgraph-store.ts';

const THREADS_MAX = 256;

/** Keeps the checkpoints of LangGraph in a store: each one is a turn, and each branch a context. */
export class QuipuSaver extends BaseCheckpointSaver {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #values: Values;
  readonly #threads = new LruCache<string, Thread>(THREADS_MAX, () => 1);
  readonly #writers = new OneAtATime<string>();

  /** `prefix` begins the names of the contexts, by default 'langgraph'. */
  constructor(store: Store, options: { prefix?: string; serde?: SerializerProtocol } = {}) {
    super(options.serde);
    this.#store = store;
    this.#prefix = options.prefix ?? 'langgraph';
    this.#values = new Values(store, this);
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.['thread_id'] === undefined) return undefined;
    const thread = this.#thread(threadOf(config), namespaceOf(config));
    await thread.refresh();
    const id = getCheckpointId(config) || thread.latest;
    if (id === undefined) return undefined;
    if (!thread.saved.has(id)) await thread.refresh('all');
    return thread.saved.has(id) ? this.#toTuple(thread, id) : undefined;
  }

  async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = (config.configurable ?? {}) as Wanted;
    const before = options.before && getCheckpointId(options.before);
    const found: { id: string; thread: Thread }[] = [];
    for (const thread of await this.#threadsOf(thread_id)) {
      if (checkpoint_ns !== undefined && thread.parts[2] !== checkpoint_ns) continue;
      await thread.refresh('all');
      for (const id of thread.saved.keys()) {
        if (checkpoint_id !== undefined && id !== checkpoint_id) continue;
        if (!before || id < before) found.push({ id, thread });
      }
    }
    const wanted = Object.entries(options.filter ?? {});
    let left = options.limit ?? Infinity;
    for (const { id, thread } of found.toSorted((a, b) => (a.id < b.id ? 1 : -1))) {
      if (left <= 0) return;
      const metadata = await this.#values.load(thread.saved.get(id)?.record?.metadata ?? '=null');
      const fields = new Map(Object.entries(metadata as object));
      if (!wanted.every(([key, value]) => fields.get(key) === value)) continue;
      yield await this.#toTuple(thread, id);
      left -= 1;
    }
  }

  async put(
    config: RunnableConfig,
    { channel_values: values, ...checkpoint }: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const thread = this.#thread(threadOf(config), namespaceOf(config));
    const parent = getCheckpointId(config) || undefined;
    const attempt = async (): Promise<void> => {
      if (parent !== undefined && !thread.saved.has(parent)) await thread.refresh();
      const base = parent === undefined ? undefined : thread.saved.get(parent);
      const before = base && thread.stateOf(base);
      const fresh: Fresh = new Map();
      const state = new Map<string, Value>();
      for (const [channel, value] of Object.entries(values)) {
        const old = before?.get(channel);
        const isNew = old === undefined && parent !== undefined;
        // A version that did not change says that the value did not. The first checkpoint leaves such channels out.
        if (Object.hasOwn(newVersions, channel) || isNew)
          state.set(channel, await this.#values.keepAll(value, fresh, old));
        else if (old !== undefined) state.set(channel, old);
      }
      const record: CheckpointRecord = {
        id: checkpoint.id,
        ...(parent !== undefined && { parent }),
        full: before === undefined,
        checkpoint: await this.#values.keep(checkpoint, fresh, Infinity),
        metadata: await this.#values.keep(metadata, fresh, Infinity),
        values: changesOf(before ?? new Map(), state),
      };
      const used = new Set<unknown>([record.checkpoint, record.metadata, record.values].flat(3));
      const turns = [...fresh].filter(([piece]) => used.has(piece)).map(([, turn]) => turn);
      turns.push({ type: CHECKPOINT, payload: record });
      for (let at = 0; at < turns.length; at += BATCH_TURNS) {
        const branch = await thread.branchAt(base);
        await thread.append(branch, turns.slice(at, at + BATCH_TURNS), state);
      }
    };
    await this.#writers.run(joinName(...thread.parts), () =>
      withRetries(attempt, () => thread.refresh()),
    );
    return configOf(thread, checkpoint.id);
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const thread = this.#thread(threadOf(config), namespaceOf(config));
    const checkpoint = getCheckpointId(config);
    if (checkpoint === '') throw invalid('configurable.checkpoint_id', 'is missing');
    const fresh: Fresh = new Map();
    const kept: WritesRecord['writes'][number][] = [];
    for (const [index, [channel, given]] of writes.entries()) {
      const value = await this.#values.keepAll(given, fresh);
      const known = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : undefined;
      kept.push([known ?? index, channel, typeof value === 'string' ? value : [0, 0, ...value]]);
    }
    const record: WritesRecord = { checkpoint, task: taskId, writes: kept };
    const turns = [...fresh.values(), { type: WRITES, payload: record }];
    await withRetries(
      async () => thread.append(await thread.log(), turns),
      () => thread.refresh(),
    );
  }

  async deleteThread(threadId: string): Promise<void> {
    for (const { id, name } of await contextsUnder(this.#store, this.#prefix, threadId)) {
      await this.#store.contexts.remove(id);
      this.#threads.delete(name.slice(0, name.lastIndexOf('/')));
    }
  }

  #thread(id: string, namespace: string): Thread {
    const name = joinName(this.#prefix, id, namespace);
    const known = this.#threads.get(name);
    if (known !== undefined) return known;
    const thread = new Thread(this.#store, [this.#prefix, id, namespace], this.#values);
    this.#threads.set(name, thread);
    return thread;
  }

  /** Returns the threads with this id, one for each namespace; without an id all of them. */
  async #threadsOf(id: string | undefined): Promise<Thread[]> {
    const parts = id === undefined ? [this.#prefix] : [this.#prefix, id];
    const found = await contextsUnder(this.#store, ...parts);
    const names = new Set(found.map(({ name }) => name.slice(0, name.lastIndexOf('/'))));
    return [...names].map((name) => {
      const [thread = '', namespace = ''] = splitName(name).slice(-2);
      return this.#thread(thread, namespace);
    });
  }

  async #toTuple(thread: Thread, id: string): Promise<CheckpointTuple> {
    const saved = thread.saved.get(id);
    const state = saved && thread.stateOf(saved);
    if (saved?.record === undefined || state === undefined)
      throw notFound('checkpoint', id, `checkpoint ${id} builds on one that was erased`);
    const { parent, metadata } = saved.record;
    const entries: [string, unknown][] = [];
    for (const [channel, value] of state) entries.push([channel, await this.#values.load(value)]);
    const checkpoint = {
      ...((await this.#values.load(saved.record.checkpoint)) as Checkpoint),
      channel_values: Object.fromEntries(entries),
    };
    if (checkpoint.v < 4 && parent !== undefined) {
      // Checkpoints before version 4 had the sends among the writes of their parent.
      const sends = (await this.#writesOf(thread, parent)).filter(([, name]) => name === TASKS);
      const versions = Object.values(checkpoint.channel_versions);
      checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
      checkpoint.channel_versions[TASKS] =
        versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
    }
    return {
      config: configOf(thread, id),
      checkpoint,
      metadata: (await this.#values.load(metadata)) as CheckpointMetadata,
      ...(parent !== undefined && { parentConfig: configOf(thread, parent) }),
      pendingWrites: await this.#writesOf(thread, id),
    };
  }

  async #writesOf(thread: Thread, id: string): Promise<CheckpointPendingWrite[]> {
    const writes: CheckpointPendingWrite[] = [];
    for (const [task, channel, value] of thread.writes.get(id)?.values() ?? [])
      writes.push([task, channel, await this.#values.load(value)]);
    return writes;
  }
}

interface Wanted {
  readonly thread_id?: string;
  readonly checkpoint_ns?: string;
  readonly checkpoint_id?: string;
}

function threadOf(config: RunnableConfig): string {
  const { thread_id: thread } = (config.configurable ?? {}) as { thread_id?: unknown };
  if (typeof thread === 'string' && thread !== '') return thread;
  throw invalid('configurable.thread_id', 'is missing: pass { configurable: { thread_id: "…" } }');
}

function namespaceOf(config: RunnableConfig): string {
  return (config.configurable as Wanted | undefined)?.checkpoint_ns ?? '';
}

function configOf(thread: Thread, checkpointId: string): RunnableConfig {
  const [, thread_id, checkpoint_ns] = thread.parts;
  return { configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpointId } };
}
