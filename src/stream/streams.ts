import { OneAtATime } from '../base/one-at-a-time.ts';
import type { Engine } from '../engine/engine.ts';
import { Appends } from './append-group.ts';
import { createStream, type CreatedStream, type NewStream } from './create-stream.ts';
import type { AppendAnswer, AppendRequest } from './decide-append.ts';
import {
  findStream,
  removeStream,
  untilSettled,
  used,
  type GoneStream,
  type LiveStream,
  type StreamParts,
} from './find-stream.ts';
import { encodeStreamRecord, streamDoc } from './stream-record.ts';

/** Streams of messages over an engine: what the Durable Streams protocol asks of a store. docs/design/streams.md */
export class Streams {
  readonly #parts: StreamParts;
  readonly #appends: Appends;
  /** Forks change the document of their source, by its name. Those of this process take turns. */
  readonly #forks = new OneAtATime<string>();

  constructor(engine: Engine, clock: () => number = Date.now) {
    this.#parts = { engine, clock };
    this.#appends = new Appends(this.#parts);
  }

  create(name: string, given: NewStream): Promise<CreatedStream> {
    const key = given.fork?.from ?? name;
    return this.#forks.run(key, () => createStream(this.#parts, name, given));
  }

  /** Durable when it resolves. */
  append(name: string, request: AppendRequest): Promise<AppendAnswer> {
    return this.#appends.append(name, request);
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
