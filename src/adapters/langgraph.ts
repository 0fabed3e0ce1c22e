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
import { contextsUnder, joinName } from '../agents/names.ts';
import { withRetries } from '../agents/turns.ts';
import { CHECKPOINT, WRITES } from './langgraph-records.ts';
import type { Change, CheckpointRecord, WritesRecord } from './langgraph-records.ts';
import { Thread } from './langgraph-thread.ts';
import { Values } from './langgraph-values.ts';
import type { Fresh } from './langgraph-values.ts';

export { QuipuStore } from './langgraph-store.ts';

const THREADS_MAX = 256;

interface Wanted {
  readonly thread_id?: string;
  readonly checkpoint_ns?: string;
  readonly checkpoint_id?: string;
}

/** Keeps the checkpoints of LangGraph in a store: each one is a turn, and each branch a context. */
export class QuipuSaver extends BaseCheckpointSaver {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #values: Values;
  readonly #threads = new LruCache<string, Thread>(THREADS_MAX, () => 1);
  readonly #writers = new OneAtATime<Thread>();

  /** `prefix` begins the names of the contexts, by default 'langgraph'. */
  constructor(store: Store, options: { prefix?: string; serde?: SerializerProtocol } = {}) {
    super(options.serde);
    this.#store = store;
    this.#prefix = options.prefix ?? 'langgraph';
    this.#values = new Values(store, this);
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.['thread_id'] === undefined) return undefined;
    const thread = this.#threadOf(config);
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
    const thread = this.#threadOf(config);
    const parent = getCheckpointId(config) || undefined;
    const attempt = async (): Promise<void> => {
      if (parent !== undefined && !thread.saved.has(parent)) await thread.refresh();
      const base = parent === undefined ? undefined : thread.saved.get(parent);
      const fresh: Fresh = new Map();
      const known = [...(base?.state?.keys() ?? [])];
      const gone = known.filter((channel) => !Object.hasOwn(values, channel));
      const changes: [string, Change | null][] = gone.map((channel) => [channel, null]);
      for (const [channel, value] of Object.entries(values)) {
        const old = base?.state?.get(channel);
        // A version that did not change says that the value did not. The first checkpoint leaves such channels out.
        const isSame = !Object.hasOwn(newVersions, channel);
        if (isSame && (old !== undefined || parent === undefined)) continue;
        const change = await this.#values.change(value, fresh, old);
        if (change !== old) changes.push([channel, change]);
      }
      const record: CheckpointRecord = {
        id: checkpoint.id,
        ...(parent !== undefined && { parent }),
        full: base?.state === undefined,
        checkpoint: await this.#values.keep(checkpoint, fresh, Infinity),
        metadata: await this.#values.keep(metadata, fresh, Infinity),
        values: changes,
      };
      const turns = [...fresh.values(), { type: CHECKPOINT, payload: record }];
      await thread.append(await thread.branchAt(base), turns);
    };
    await this.#writers.run(thread, () => withRetries(attempt, () => thread.refresh('all')));
    return configOf(thread, checkpoint.id);
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const thread = this.#threadOf(config);
    const checkpoint = getCheckpointId(config);
    if (checkpoint === '') throw invalid('configurable.checkpoint_id', 'is missing');
    const fresh: Fresh = new Map();
    const kept: WritesRecord['writes'][number][] = [];
    for (const [index, [channel, value]] of writes.entries()) {
      const known = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : undefined;
      kept.push([known ?? index, channel, await this.#values.change(value, fresh)]);
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

  #threadOf({ configurable }: RunnableConfig): Thread {
    const { thread_id: id = '', checkpoint_ns: namespace = '' } = (configurable ?? {}) as Wanted;
    const isGiven = typeof id === 'string' && id !== '';
    if (isGiven) return this.#thread(joinName(this.#prefix, id, namespace));
    throw invalid('configurable.thread_id', 'is missing: pass { configurable: { thread_id } }');
  }

  #thread(name: string): Thread {
    const thread = this.#threads.get(name) ?? new Thread(this.#store, name, this.#values);
    this.#threads.set(name, thread);
    return thread;
  }

  /** Returns the threads with this id, one for each namespace; without an id all of them. */
  async #threadsOf(id: string | undefined): Promise<Thread[]> {
    const parts = id === undefined ? [this.#prefix] : [this.#prefix, id];
    const found = await contextsUnder(this.#store, ...parts);
    const names = found.map(({ name }) => name.slice(0, name.lastIndexOf('/')));
    return [...new Set(names)].map((name) => this.#thread(name));
  }

  async #toTuple(thread: Thread, id: string): Promise<CheckpointTuple> {
    const saved = thread.saved.get(id);
    if (saved?.record === undefined || saved.state === undefined)
      throw notFound('checkpoint', id, `checkpoint ${id} builds on one that was erased`);
    const { parent, metadata } = saved.record;
    const entries: [string, unknown][] = [];
    for (const [channel, value] of saved.state)
      entries.push([channel, await this.#values.load(value)]);
    const checkpoint = (await this.#values.load(saved.record.checkpoint)) as Checkpoint;
    checkpoint.channel_values = Object.fromEntries(entries);
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

function configOf(thread: Thread, checkpointId: string): RunnableConfig {
  const [, thread_id, checkpoint_ns] = thread.parts;
  return { configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpointId } };
}
