import { OneAtATime } from '../base/one-at-a-time.ts';
import type { Engine } from '../engine/engine.ts';
import {
  type AppendAnswer,
  type AppendRequest,
  NOTHING,
  toTurns,
  appendGroup,
} from './append-group.ts';
import {
  findStream,
  removeStream,
  untilSettled,
  used,
  type GoneStream,
  type LiveStream,
  type StreamParts,
  aliveUntil,
  countForks,
  tailOf,
} from './find-stream.ts';
import { encodeStreamRecord, streamDoc, contextName, type StreamRecord } from './stream-record.ts';
import type { TurnId } from '../base/brand.ts';
import { exists, invalid, notFound } from '../base/errors.ts';
import type { Batch } from '../engine/batch.ts';
import { MESSAGE_TYPE, firstPart, mediaType, toMessage, type Message } from './message.ts';

export interface NewStream {
  /** The content type. Default: that of the source, or bytes. */
  readonly type?: string;
  readonly ttl?: number;
  readonly expiresAt?: string;
  readonly closed: boolean;
  /** The first message; nothing when it is empty. */
  readonly body: Uint8Array;
  readonly fork?: NewFork;
}

export interface NewFork {
  /** The name of the stream to fork. */
  readonly from: string;
  /** The number of its messages to share. Default: all. */
  readonly at?: number;
  /** The part of the next message to begin with. */
  readonly sub: number;
}

/** A stream that was created, or was there with the same settings. */
export interface CreatedStream {
  readonly created: boolean;
  readonly type: string;
  readonly tail: number;
  readonly closed: boolean;
}

const DEFAULT_TYPE = 'application/octet-stream';

/** EXISTS when there is a stream of that name with other settings. */
export async function createStream(
  parts: StreamParts,
  name: string,
  given: NewStream,
): Promise<CreatedStream> {
  return untilSettled(async () => {
    const found = await findStream(parts, name);
    if (found?.is === 'gone') {
      throw exists('stream', name, `${name} was deleted, and is free again when its forks are`);
    }
    if (found !== undefined) return sameStream(found, given);
    await assertFree(parts, name);
    const { batch, ...created } = await planStream(parts, name, given);
    await parts.engine.commit(batch);
    return { created: true, ...created };
  });
}

/** A context of that name that belongs to no stream is somebody else's. */
async function assertFree(parts: StreamParts, name: string): Promise<void> {
  const taken = await parts.engine.findContext(contextName(name));
  // The stream may have been created between the two looks.
  if (taken === undefined || (await findStream(parts, name)) !== undefined) return;
  throw exists('stream', name, `context ${taken.id} has the name ${contextName(name)}; rename it`);
}

/** Settings that a fork does not name are those of its source. */
function sameStream(found: LiveStream, given: NewStream): CreatedStream {
  const { record } = found;
  const { fork } = given;
  const isFork = fork !== undefined;
  const type = given.type ?? (isFork ? record.type : DEFAULT_TYPE);
  const hasEnd = given.ttl !== undefined || given.expiresAt !== undefined;
  const isSame =
    mediaType(type) === mediaType(record.type) &&
    ((isFork && !hasEnd) || (given.ttl === record.ttl && given.expiresAt === record.expiresAt)) &&
    given.closed === (record.closed !== undefined) &&
    fork?.from === record.fork?.from &&
    (fork?.at === undefined || fork.at === record.fork?.at) &&
    (fork?.sub ?? 0) === (record.fork?.sub ?? 0);
  if (!isSame) throw exists('stream', record.name, `${record.name} is there with other settings`);
  return { created: false, type: record.type, tail: tailOf(found), closed: given.closed };
}

interface StreamPlan extends Omit<CreatedStream, 'created'> {
  readonly batch: Batch;
}

async function planStream(parts: StreamParts, name: string, given: NewStream): Promise<StreamPlan> {
  const { fork, closed } = given;
  const source = fork && (await getSource(parts, fork.from));
  const type = given.type ?? source?.record.type ?? DEFAULT_TYPE;
  if (source !== undefined && mediaType(type) !== mediaType(source.record.type)) {
    throw exists('stream', name, `${fork?.from} has the type ${source.record.type}, not ${type}`);
  }
  const at = fork && source ? placeOf(fork, source) : 0;
  const base = source === undefined || at === 0 ? undefined : await turnAt(parts, source, at - 1);
  const messages: Message[] = [];
  if (source !== undefined && fork !== undefined && fork.sub > 0) {
    messages.push(firstPart(await readMessage(parts.engine, source, at), type, fork.sub));
  }
  const body = given.body.length === 0 ? undefined : toMessage(given.body, type);
  if (body !== undefined) messages.push(body);
  const tail = at + messages.length;
  const { ttl, expiresAt } =
    given.ttl === undefined && given.expiresAt === undefined ? (source?.record ?? {}) : given;
  const record: StreamRecord = {
    name,
    type,
    ...(ttl !== undefined && { ttl, until: aliveUntil(ttl, parts.clock()) }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(fork !== undefined && { fork: { from: fork.from, at, sub: fork.sub } }),
    forks: 0,
    ...(closed && { closed: tail }),
  };
  const blobs = [...messages, ...(closed ? [NOTHING] : [])];
  const batch: Batch = {
    blobs: blobs.map(({ hash, bytes }) => ({ hash, bytes })),
    contexts: [
      {
        do: 'create',
        ...(base !== undefined && { base }),
        meta: { name: contextName(name), kind: 'stream' },
      },
    ],
    turns: toTurns({ created: 0 }, messages, { closes: closed }),
    docs: [
      { name: streamDoc(name), content: encodeStreamRecord(record), expectedVersion: 0 },
      ...(source === undefined ? [] : [countForks(source, 1)]),
    ],
  };
  return { batch, type, tail, closed };
}

async function getSource(parts: StreamParts, from: string): Promise<LiveStream> {
  const source = await findStream(parts, from);
  if (source === undefined) throw notFound('stream', from, `there is no stream ${from} to fork`);
  if (source.is === 'live') return source;
  throw exists('stream', from, `${from} was deleted and cannot be forked any more`);
}

function placeOf({ at, sub }: NewFork, source: LiveStream): number {
  const tail = tailOf(source);
  const place = at ?? tail;
  if (place > tail) throw invalid('Stream-Fork-Offset', 'is beyond the end of the stream');
  if (sub > 0 && place === tail) {
    throw invalid('Stream-Fork-Sub-Offset', 'is a part of a message, and there is none after that');
  }
  return place;
}

async function turnAt(
  { engine }: StreamParts,
  { context, record }: LiveStream,
  depth: number,
): Promise<TurnId> {
  const turn = await engine.ancestorAt(context.head, depth);
  if (turn !== undefined) return turn.id;
  throw notFound('turn', String(depth), `${record.name} has no message ${depth} any more`);
}

/** A message that was patched or erased is not what it was, and no part of it is copied. */
async function readMessage(
  engine: Engine,
  { context }: LiveStream,
  depth: number,
): Promise<Uint8Array> {
  const turn = await engine.ancestorAt(context.head, depth);
  if (turn?.type === MESSAGE_TYPE && turn.payload !== undefined) {
    const patches = await engine.getPatches([turn.id]);
    const bytes = patches.length === 0 ? await engine.getBlob(turn.payload) : undefined;
    if (bytes !== undefined) return bytes;
  }
  throw invalid('Stream-Fork-Sub-Offset', 'is a part of a message that was changed or erased');
}

/** Requests, and bytes of messages, that go into one commit. */
const GROUP_REQUESTS = 256;
const GROUP_BYTES = 4 * 1024 * 1024;

interface Waiting {
  readonly request: AppendRequest;
  readonly resolve: (answer: AppendAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** Streams of messages over an engine: what the Durable Streams protocol asks of a store. docs/design/streams.md */
export class Streams {
  readonly #parts: StreamParts;
  /** The requests to append that wait, by stream. */
  readonly #lines = new Map<string, Waiting[]>();
  /** Forks change the document of their source, by its name. Those of this process take turns. */
  readonly #forks = new OneAtATime<string>();

  constructor(engine: Engine, clock: () => number = Date.now) {
    this.#parts = { engine, clock };
  }

  create(name: string, given: NewStream): Promise<CreatedStream> {
    const key = given.fork?.from ?? name;
    return this.#forks.run(key, () => createStream(this.#parts, name, given));
  }

  /**
   * Durable when it resolves. Requests for one stream are decided in the order in which they came. Those that come while
   * a commit is on its way share the next one, so a busy stream needs fewer syncs than it has messages.
   */
  append(name: string, request: AppendRequest): Promise<AppendAnswer> {
    return new Promise((resolve, reject) => {
      const line = this.#lines.get(name);
      const waiting = { request, resolve, reject };
      if (line !== undefined) line.push(waiting);
      else {
        const first = [waiting];
        this.#lines.set(name, first);
        void this.#work(name, first);
      }
    });
  }

  async #work(name: string, line: Waiting[]): Promise<void> {
    while (line.length > 0) {
      const group = line.splice(0, countFitting(line));
      try {
        const requests = group.map(({ request }) => request);
        const answers = await untilSettled(() => appendGroup(this.#parts, name, requests));
        for (const [index, answer] of answers.entries()) group[index]?.resolve(answer);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#lines.delete(name);
  }

  find(name: string): Promise<LiveStream | GoneStream | undefined> {
    return findStream(this.#parts, name);
  }

  /** Finds a stream for a reader, whose reading keeps a stream with a `ttl` alive. */
  use(name: string): Promise<LiveStream | GoneStream | undefined> {
    const { engine, clock } = this.#parts;
    return untilSettled(async () => {
      const found = await this.find(name);
      if (found?.is !== 'live') return found;
      const { record, version } = found;
      const next = used(record, clock());
      if (next === record) return found;
      const content = encodeStreamRecord(next);
      const doc = { name: streamDoc(name), content, expectedVersion: version };
      await engine.commit({ docs: [doc] });
      return found;
    });
  }

  async remove(name: string): Promise<'removed' | 'gone' | 'missing'> {
    const key = (await this.find(name))?.record.fork?.from ?? name;
    return this.#forks.run(key, () => removeStream(this.#parts, name));
  }
}

/** The number of the first requests that go into one commit: at least one. */
function countFitting(line: readonly Waiting[]): number {
  let bytes = 0;
  for (const [index, { request }] of line.entries()) {
    bytes += request.message?.bytes.length ?? 0;
    if (index > 0 && (index === GROUP_REQUESTS || bytes > GROUP_BYTES)) return index;
  }
  return line.length;
}
