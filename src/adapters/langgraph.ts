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
import { hashBytes } from '../base/hash.ts';
import { LruCache } from '../base/lru-cache.ts';
import { OneAtATime } from '../base/one-at-a-time.ts';
import type { NewTurn } from '../context/contexts.ts';
import type { Store } from '../store/store.ts';
import { BATCH_TURNS, contextsUnder, joinName, splitName, withRetries } from './shared.ts';
import { CHECKPOINT, List, Thread, VALUE, WRITES, changeOf } from './langgraph-thread.ts';
import type { Change, CheckpointRecord, Piece, Saved, WritesRecord } from './langgraph-thread.ts';

export { QuipuStore } from './langgraph-store.ts';

const THREADS_MAX = 256;
const CACHE_BYTES = 33_554_432;
/** JSON of at most this many bytes stands in the record itself; longer values are blobs of their own. */
const INLINE_BYTES = 256;
const COMMA = 0x2c;

/** The new blobs of a record, by their pieces. */
type Fresh = Map<Piece, NewTurn>;

/** A list as JSON. Whoever has that of the list before sees at once what was added, and reads a list in one go. */
interface Dump {
  readonly bytes: Uint8Array;
  readonly count: number;
  /** One or two lists that make the whole one. The first stays for many turns: a new long text takes long to make. */
  readonly texts: readonly string[];
}

/** Keeps the checkpoints of LangGraph in a store: each one is a turn, and each branch a context. */
export class QuipuSaver extends BaseCheckpointSaver {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #bytes = new LruCache<string, Uint8Array>(CACHE_BYTES, ({ length }) => length + 1);
  readonly #dumps = new LruCache<List, Dump>(CACHE_BYTES, ({ bytes }) => bytes.length * 3);
  readonly #threads = new LruCache<string, Thread>(THREADS_MAX, () => 1);
  readonly #writers = new OneAtATime<string>();

  /** `prefix` begins the names of the contexts, by default 'langgraph'. */
  constructor(store: Store, options: { prefix?: string; serde?: SerializerProtocol } = {}) {
    super(options.serde);
    this.#store = store;
    this.#prefix = options.prefix ?? 'langgraph';
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.['thread_id'] === undefined) return undefined;
    const thread = this.#thread(threadOf(config), namespaceOf(config));
    await thread.refresh();
    const id = getCheckpointId(config) || thread.latest;
    if (id !== undefined && !thread.saved.has(id)) await thread.refresh('all');
    const saved = id === undefined ? undefined : thread.saved.get(id);
    return saved && this.#toTuple(thread, saved);
  }

  async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = (config.configurable ?? {}) as Wanted;
    const before = options.before && getCheckpointId(options.before);
    const found: [Thread, Saved][] = [];
    for (const thread of await this.#threadsOf(thread_id)) {
      if (checkpoint_ns !== undefined && thread.namespace !== checkpoint_ns) continue;
      await thread.refresh('all');
      for (const saved of thread.saved.values()) {
        if (checkpoint_id !== undefined && saved.id !== checkpoint_id) continue;
        if (!before || saved.id < before) found.push([thread, saved]);
      }
    }
    found.sort(([, a], [, b]) => (a.id < b.id ? 1 : -1));
    let left = options.limit ?? Infinity;
    for (const [thread, saved] of found) {
      if (left <= 0) return;
      const metadata = (await this.#load(saved.metadata)) as Record<string, unknown>;
      const wanted = Object.entries(options.filter ?? {});
      if (!wanted.every(([key, value]) => metadata[key] === value)) continue;
      yield await this.#toTuple(thread, saved);
      left -= 1;
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const thread = this.#thread(threadOf(config), namespaceOf(config));
    const parent = getCheckpointId(config) || undefined;
    await this.#writers.run(thread.name, () =>
      withRetries(
        async () => {
          if (parent !== undefined && !thread.saved.has(parent)) await thread.refresh();
          const base = parent === undefined ? undefined : thread.saved.get(parent);
          const fresh: Fresh = new Map();
          const dumps = new Map<string, Dump>();
          const { channel_values: values, ...rest } = checkpoint;
          const record: CheckpointRecord = {
            id: checkpoint.id,
            ...(parent !== undefined && { parent }),
            full: base?.values === undefined,
            checkpoint: await this.#keep(rest, fresh, Infinity),
            metadata: await this.#keep(metadata, fresh, Infinity),
            values: [],
          };
          for (const channel of new Set([
            ...(base?.values?.keys() ?? []),
            ...Object.keys(values),
          ])) {
            const old = base?.values?.get(channel);
            const given = Object.hasOwn(values, channel);
            if (!given) record.values.push([channel, null]);
            // A version that did not change says that the value did not. The first checkpoint leaves such channels out.
            else if (Object.hasOwn(newVersions, channel) || (!old && parent !== undefined)) {
              const change = await this.#change(old, values[channel], fresh, (dump) =>
                dumps.set(channel, dump),
              );
              if (change !== undefined) record.values.push([channel, change]);
            }
          }
          const used = new Set([record.checkpoint, record.metadata]);
          for (const [, change] of record.values)
            for (const piece of [change].flat()) used.add(piece as Piece);
          const turns = [...fresh].filter(([piece]) => used.has(piece)).map(([, turn]) => turn);
          turns.push({ type: CHECKPOINT, payload: record });
          for (let at = 0; at < turns.length; at += BATCH_TURNS) {
            await thread.append(await thread.branchAt(base), turns.slice(at, at + BATCH_TURNS));
          }
          for (const [channel, dump] of dumps) {
            const list = thread.saved.get(checkpoint.id)?.values?.get(channel);
            if (list instanceof List) this.#dumps.set(list, dump);
          }
        },
        () => thread.refresh(),
      ),
    );
    return configOf(thread, checkpoint.id);
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const thread = this.#thread(threadOf(config), namespaceOf(config));
    const checkpoint = getCheckpointId(config);
    if (checkpoint === '') throw invalid('configurable.checkpoint_id', 'is missing');
    const fresh: Fresh = new Map();
    const record: WritesRecord = { checkpoint, task: taskId, writes: [] };
    for (const [index, [channel, value]] of writes.entries()) {
      const change = changeOf(undefined, await this.#keepAll(value, fresh));
      if (change === undefined) continue;
      const known = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : undefined;
      record.writes.push([known ?? index, channel, change]);
    }
    const turns = [...fresh.values(), { type: WRITES, payload: record }];
    await this.#writers.run(joinName(thread.name, 'writes'), () =>
      withRetries(
        async () => thread.append(await thread.log(), turns),
        () => thread.refresh(),
      ),
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
    const keep = (hash: string, bytes: Uint8Array): void => this.#bytes.set(hash, bytes);
    const thread = new Thread(this.#store, [this.#prefix, id, namespace], keep);
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

  /** Returns the piece for a value. What does not fit into the record is added to `fresh`. */
  async #keep(value: unknown, fresh: Fresh, inlineBytes: number): Promise<Piece> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    if (type === 'json' && bytes.length <= inlineBytes) return `=${Buffer.from(bytes).toString()}`;
    const hash = hashBytes(bytes);
    // The encoding for JSON would parse it, and refuse a value of a million numbers.
    const encoding = type === 'json' ? 'text' : 'bytes';
    fresh.set(`${type}:${hash}`, { type: VALUE, encoding, payload: ownBytes(type, bytes) });
    return `${type}:${hash}`;
  }

  /** Returns the change from `old` to `value`. When elements were added at the end, only these are kept anew. */
  async #change(
    old: Piece | List | undefined,
    value: unknown,
    fresh: Fresh,
    onDump: (dump: Dump) => void,
  ): Promise<Change | undefined> {
    if (!Array.isArray(value)) return changeOf(old, await this.#keepAll(value, fresh));
    const [type, bytes] = await this.serde.dumpsTyped(value);
    if (type !== 'json') return changeOf(old, await this.#keepAll(value, fresh));
    const before = old instanceof List ? this.#dumps.get(old) : undefined;
    const isMore = before !== undefined && isContinued(before, bytes);
    const texts = isMore ? continueTexts(before, bytes) : [toUtf8(bytes)];
    onDump({ bytes, count: value.length, texts });
    if (!isMore) return changeOf(old, await this.#keepAll(value, fresh));
    if (old instanceof List) this.#dumps.delete(old);
    if (value.length === before.count) return undefined;
    const added = value.slice(before.count).map((item) => this.#keep(item, fresh, INLINE_BYTES));
    return [before.count, 0, ...(await Promise.all(added))];
  }

  /** A list is kept by its elements. */
  async #keepAll(value: unknown, fresh: Fresh): Promise<Piece | readonly Piece[]> {
    if (!Array.isArray(value)) return this.#keep(value, fresh, INLINE_BYTES);
    return Promise.all(value.map((item) => this.#keep(item, fresh, INLINE_BYTES)));
  }

  async #load(value: Piece | List): Promise<unknown> {
    if (value instanceof List) {
      const dump = this.#dumps.get(value);
      if (dump !== undefined) {
        const parts = dump.texts.map((text) => this.serde.loadsTyped('json', text));
        return (await Promise.all(parts)).flat();
      }
      return Promise.all(value.pieces().map((piece) => this.#load(piece)));
    }
    if (value.startsWith('=')) return this.serde.loadsTyped('json', value.slice(1));
    const colon = value.lastIndexOf(':');
    const hash = value.slice(colon + 1);
    const bytes = this.#bytes.get(hash) ?? (await this.#store.blobs.get(hash));
    if (bytes === undefined)
      throw notFound('blob', hash, `a value of the checkpoint, blob ${hash}, is gone`);
    this.#bytes.set(hash, bytes);
    const type = value.slice(0, colon);
    return this.serde.loadsTyped(type, ownBytes(type, bytes));
  }

  async #toTuple(thread: Thread, saved: Saved): Promise<CheckpointTuple> {
    if (saved.values === undefined) {
      const what = `checkpoint ${saved.id} builds on one that was erased`;
      throw notFound('checkpoint', saved.id, what);
    }
    const entries = [...saved.values].map(async ([channel, value]) => [
      channel,
      await this.#load(value),
    ]);
    const checkpoint = {
      ...((await this.#load(saved.checkpoint)) as Omit<Checkpoint, 'channel_values'>),
      channel_values: Object.fromEntries(await Promise.all(entries)) as Record<string, unknown>,
    };
    if (checkpoint.v < 4 && saved.parent !== undefined) {
      await this.#addSends(checkpoint, await this.#writesOf(thread, saved.parent));
    }
    return {
      config: configOf(thread, saved.id),
      checkpoint,
      metadata: (await this.#load(saved.metadata)) as CheckpointMetadata,
      ...(saved.parent !== undefined && { parentConfig: configOf(thread, saved.parent) }),
      pendingWrites: await this.#writesOf(thread, saved.id),
    };
  }

  async #writesOf(thread: Thread, id: string): Promise<CheckpointPendingWrite[]> {
    const writes = [...(thread.writes.get(id)?.values() ?? [])];
    return Promise.all(
      writes.map(
        async ([task, channel, value]) => [task, channel, await this.#load(value)] as const,
      ),
    ) as Promise<CheckpointPendingWrite[]>;
  }

  /** Checkpoints before version 4 had the sends among the writes of their parent. */
  async #addSends(
    checkpoint: Checkpoint,
    writes: readonly CheckpointPendingWrite[],
  ): Promise<void> {
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = writes
      .filter(([, channel]) => channel === TASKS)
      .map(([, , value]) => value);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }
}

function toUtf8({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString();
}

/** A serialisation other than JSON may be the array of the caller, who may change it. */
function ownBytes(type: string, bytes: Uint8Array): Uint8Array {
  return type === 'json' ? bytes : bytes.slice();
}

/** Decodes only what was added. When the second list has become long, both become one. */
function continueTexts(before: Dump, bytes: Uint8Array): string[] {
  const [first = '', second = '['] = before.texts;
  const added = toUtf8(bytes.subarray(before.bytes.length - 1));
  if (added === ']') return [...before.texts];
  const rest = second === '[' ? `[${added.slice(1)}` : second.slice(0, -1) + added;
  return rest.length * 8 > first.length ? [toUtf8(bytes)] : [first, rest];
}

/** True when these bytes have the elements of `before`, perhaps followed by others. */
function isContinued({ bytes: before, count }: Dump, bytes: Uint8Array): boolean {
  const end = before.length - 1;
  if (count === 0 || bytes.length < before.length) return false;
  const next = bytes[end];
  if (next !== COMMA && (next !== before[end] || bytes.length > before.length)) return false;
  return Buffer.compare(bytes.subarray(0, end), before.subarray(0, end)) === 0;
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
  const { id, namespace } = thread;
  return { configurable: { thread_id: id, checkpoint_ns: namespace, checkpoint_id: checkpointId } };
}
