import { fileURLToPath } from 'node:url';
import { ChildServer } from './child-server.ts';
import type { Conversations, ForkPoint, StreamsName } from './driver.ts';
import { ServerProcess } from './server-process.ts';

/** Beside its own packages, so it is not compiled. */
const PROGRAM = fileURLToPath(new URL('../../../peers/streams-server.mjs', import.meta.url));
/** Both ends are on this machine: packing would cost more than it saves. */
const HEADERS = { 'content-type': 'application/json', 'accept-encoding': 'identity' };

interface Stream {
  readonly path: string;
  /** Where each message begins, and where the next one will: servers tell it, and readers cannot count back. */
  readonly offsets: string[];
}

/** JSON streams behind a server in a process of its own, over HTTP; the same requests for each server. */
export class Streams implements Conversations {
  readonly #base: URL;
  readonly #stop: () => Promise<void>;
  readonly #streams: Stream[] = [];

  private constructor(base: string, stop: () => Promise<void>) {
    this.#base = new URL(base);
    this.#stop = stop;
  }

  static async open(name: StreamsName, folder: string): Promise<Streams> {
    if (name === 'quipu-streams') {
      const own = await ServerProcess.start(folder);
      return new Streams(`${own.addresses.http}/v1/streams/`, () => own.stop());
    }
    const server = await ChildServer.start(PROGRAM, [folder]);
    return new Streams(`${server.told}/`, () => server.stop());
  }

  async create(): Promise<number> {
    return this.#add([], {});
  }

  async append(thread: number, payload: Uint8Array): Promise<void> {
    const { path, offsets } = this.#mustGet(thread);
    const answer = await this.#ask(path, { method: 'POST', body: payload });
    await answer.arrayBuffer();
    offsets.push(nextOffset(answer));
  }

  async values(thread: number, n: number): Promise<unknown[]> {
    const { path, offsets } = this.#mustGet(thread);
    const values: unknown[] = [];
    for (let from = offsets.at(-1 - n) ?? '-1'; ;) {
      const answer = await this.#ask(`${path}?offset=${encodeURIComponent(from)}`, {});
      values.push(...((await answer.json()) as unknown[]));
      if (answer.headers.has('stream-up-to-date')) return values;
      from = nextOffset(answer);
    }
  }

  async turnAt(thread: number, depth: number): Promise<ForkPoint> {
    return { thread, depth, turn: 0n };
  }

  async fork({ thread, depth }: ForkPoint): Promise<number> {
    const { path, offsets } = this.#mustGet(thread);
    return this.#add(offsets.slice(0, depth + 1), {
      'stream-forked-from': path,
      'stream-fork-offset': offsets[depth + 1] ?? '',
    });
  }

  async close(): Promise<void> {
    await this.#stop();
  }

  async #add(before: readonly string[], headers: Record<string, string>): Promise<number> {
    const path = `${this.#base.pathname}conversation-${this.#streams.length}`;
    const answer = await this.#ask(path, { method: 'PUT', headers });
    await answer.arrayBuffer();
    return this.#streams.push({ path, offsets: [...before, nextOffset(answer)] }) - 1;
  }

  async #ask(
    path: string,
    { headers = {}, ...how }: { method?: string; body?: Uint8Array; headers?: object },
  ): Promise<Response> {
    const answer = await fetch(new URL(path, this.#base), {
      ...how,
      headers: { ...HEADERS, ...headers },
    });
    if (answer.ok) return answer;
    throw new Error(`${how.method ?? 'GET'} ${path}: ${answer.status} ${await answer.text()}`);
  }

  #mustGet(thread: number): Stream {
    const stream = this.#streams[thread];
    if (stream !== undefined) return stream;
    throw new RangeError(`there is no thread ${thread}`);
  }
}

function nextOffset({ headers }: Response): string {
  const offset = headers.get('stream-next-offset');
  if (offset !== null) return offset;
  throw new Error('the server did not say where the stream goes on');
}
