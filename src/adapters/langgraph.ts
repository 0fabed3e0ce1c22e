import * as messages from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import type * as langgraph from '@langchain/langgraph-checkpoint';
import {
  BaseCheckpointSaver,
  TASKS,
  WRITES_IDX_MAP,
  getCheckpointId,
  maxChannelVersion,
} from '@langchain/langgraph-checkpoint';
import type { Checkpoint } from '../agents/checkpoints/checkpoint.ts';
import { Checkpoints } from '../agents/checkpoints/checkpoints.ts';
import { invalid } from '../base/errors.ts';
import { given } from '../base/given.ts';
import type { Store } from '../store/store.ts';

export { QuipuStore } from './langgraph-store.ts';

const KIND = 'langgraph';
/** The bytes of a message follow from its fields alone. */
const PLAIN = Object.values(messages).flatMap((made) =>
  'prototype' in made ? [made.prototype as object] : [],
);

/** The checkpoint of LangGraph without its values. */
type Details = Omit<langgraph.Checkpoint, 'channel_values'>;

/** Keeps the checkpoints of LangGraph as those of the store: a thread has one within it for each namespace. */
export class QuipuSaver extends BaseCheckpointSaver {
  readonly #checkpoints: Checkpoints;

  /** `prefix` begins the names of the contexts, by default 'langgraph'. */
  constructor(
    store: Store,
    { prefix = KIND, serde }: { prefix?: string; serde?: langgraph.SerializerProtocol } = {},
  ) {
    super(serde);
    const codec = {
      encode: (value: unknown) => this.serde.dumpsTyped(value),
      decode: (form: string, bytes: Uint8Array | string) =>
        this.serde.loadsTyped(form, bytes) as unknown,
      plain: PLAIN,
    };
    this.#checkpoints = new Checkpoints(store, { prefix, kind: KIND, codec });
  }

  async getTuple(config: RunnableConfig): Promise<langgraph.CheckpointTuple | undefined> {
    if (config.configurable?.['thread_id'] === undefined) return undefined;
    const found = await this.#checkpoints.get(
      threadOf(config),
      getCheckpointId(config) || undefined,
    );
    return found && this.#toTuple(found);
  }

  async *list(
    { configurable = {} }: RunnableConfig,
    { before, filter = {}, limit = Infinity }: langgraph.CheckpointListOptions = {},
  ): AsyncGenerator<langgraph.CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = configurable;
    const parts = [thread_id, checkpoint_ns].filter((part) => part !== undefined);
    const wanted = Object.entries(filter);
    let left = limit;
    if (left <= 0) return;
    const found = this.#checkpoints.list(thread_id === undefined ? undefined : parts, {
      ...given({ before: before && (getCheckpointId(before) || undefined) }),
      where({ thread, id, metadata }) {
        if (checkpoint_ns !== undefined && thread[1] !== checkpoint_ns) return false;
        if (checkpoint_id !== undefined && id !== checkpoint_id) return false;
        const fields = new Map(Object.entries(metadata ?? {}));
        return wanted.every(([key, value]) => fields.get(key) === value);
      },
    });
    for await (const checkpoint of found) {
      yield await this.#toTuple(checkpoint);
      left -= 1;
      if (left <= 0) return;
    }
  }

  async put(
    config: RunnableConfig,
    { channel_values: all, ...details }: langgraph.Checkpoint,
    metadata: langgraph.CheckpointMetadata,
    newVersions: langgraph.ChannelVersions,
  ): Promise<RunnableConfig> {
    const thread = threadOf(config);
    const parent = getCheckpointId(config) || null;
    // A version that did not change says that the value did not. The first checkpoint leaves such channels out.
    const changed = Object.keys(newVersions);
    const ofFirst = Object.entries(all).filter(([channel]) => Object.hasOwn(newVersions, channel));
    const values = parent === null ? Object.fromEntries(ofFirst) : all;
    const { id } = details;
    await this.#checkpoints.save(thread, { id, parent, values, changed, details, metadata });
    return configOf(thread, id);
  }

  async putWrites(
    config: RunnableConfig,
    writes: langgraph.PendingWrite[],
    taskId: string,
  ): Promise<void> {
    const checkpoint = getCheckpointId(config);
    if (checkpoint === '') throw invalid('configurable.checkpoint_id', 'is missing');
    const numbers = new Map(Object.entries(WRITES_IDX_MAP));
    const named = writes.map(([name, value], at) => ({
      name,
      value,
      number: numbers.get(name) ?? at,
    }));
    await this.#checkpoints.addWrites(threadOf(config), checkpoint, taskId, named);
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.#checkpoints.remove(threadId);
  }

  async #toTuple({
    thread,
    id,
    parent,
    values,
    ...rest
  }: Checkpoint): Promise<langgraph.CheckpointTuple> {
    const checkpoint = { ...(rest.details as Details), channel_values: values };
    if (checkpoint.v < 4 && parent !== undefined) {
      // Checkpoints before version 4 had the sends among the writes of their parent.
      const writes = await this.#checkpoints.writes(thread, parent);
      const versions = Object.values(checkpoint.channel_versions);
      values[TASKS] = writes.filter(({ name }) => name === TASKS).map(({ value }) => value);
      checkpoint.channel_versions[TASKS] =
        versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
    }
    return {
      config: configOf(thread, id),
      checkpoint,
      metadata: rest.metadata as langgraph.CheckpointMetadata,
      ...(parent !== undefined && { parentConfig: configOf(thread, parent) }),
      pendingWrites: rest.writes.map(({ task, name, value }) => [task, name, value]),
    };
  }
}

/** The id of the thread, and its namespace. */
function threadOf({ configurable = {} }: RunnableConfig): string[] {
  const { thread_id: id, checkpoint_ns: namespace = '' } = configurable;
  if (typeof id === 'string' && id !== '') return [id, String(namespace)];
  throw invalid('configurable.thread_id', 'is missing: pass { configurable: { thread_id } }');
}

function configOf(
  [thread_id, checkpoint_ns]: readonly string[],
  checkpoint_id: string,
): RunnableConfig {
  return { configurable: { thread_id, checkpoint_ns, checkpoint_id } };
}
