import { QuipuError } from '../base/errors.ts';
import type { CallOptions, Transport } from '../client/transport.ts';
import type { CallHandler, CallTable, Caller } from '../server/calls/call-handler.ts';
import { fromCall, toCall } from '../wire/call-values.ts';
import type { CallBytes } from '../wire/call-values.ts';

/**
 * Calls within this process. Values are packed and unpacked as on their way to a server, so that a caller that asked a
 * server before gets the same answers.
 */
export class LocalTransport implements Transport {
  readonly #calls: () => Promise<CallTable>;
  readonly #end = new AbortController();

  /** `calls` is called each time. */
  constructor(calls: () => Promise<CallTable>) {
    this.#calls = calls;
  }

  readonly call: Transport['call'] = async (method, args, { signal } = {}) => {
    const handler = await this.#find(method, 'answer');
    return travel(await handler.run(travel(args) as unknown[], this.#caller(signal)));
  };

  async *stream(
    method: string,
    args: readonly unknown[],
    { signal }: CallOptions = {},
  ): AsyncGenerator<unknown, void, undefined> {
    const handler = await this.#find(method, 'stream');
    const caller = this.#caller(signal);
    for await (const item of handler.run(travel(args) as unknown[], caller)) {
      if (caller.signal.aborted) break;
      yield travel(item);
    }
    if (this.#end.signal.aborted) throw closed(method);
    signal?.throwIfAborted();
  }

  readonly upload: Transport['upload'] = async (method, args, body, { signal } = {}) => {
    const handler = await this.#find(method, 'upload');
    return travel(await handler.run(travel(args) as unknown[], body, this.#caller(signal)));
  };

  async close(): Promise<void> {
    this.#end.abort();
  }

  async #find<K extends CallHandler['kind']>(
    method: string,
    kind: K,
  ): Promise<CallHandler & { kind: K }> {
    const handler = (await this.#calls()).get(method);
    if (this.#end.signal.aborted) throw closed(method);
    if (handler?.kind !== kind) throw new TypeError(`${method} has no ${kind}`);
    return handler as CallHandler & { kind: K };
  }

  #caller(signal: AbortSignal | undefined): Caller {
    const signals = [this.#end.signal, ...(signal === undefined ? [] : [signal])];
    const identity = { name: 'this process', scope: 'admin', owner: true } as const;
    return { identity, signal: AbortSignal.any(signals) };
  }
}

function closed(what: string): QuipuError<'CLOSED'> {
  return new QuipuError('CLOSED', `${what}: the store is closed`, { what });
}

function copied(blob: CallBytes): Uint8Array {
  return blob instanceof Uint8Array ? Buffer.from(blob) : blob.joined();
}

function travel(value: unknown): unknown {
  const { json, blobs } = toCall(value);
  return fromCall({ json, blobs: blobs.map(copied) });
}
