import type { CallOptions, Transport } from '../client/transport.ts';
import type { Host } from './host.ts';

/**
 * Sends calls to the process that answers for the folder at that moment. A call that is sent again after its owner was
 * lost reaches the next owner, which may be this very process. It has the same arguments, and so the same key.
 */
export class HostTransport implements Transport {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  async call(method: string, args: readonly unknown[], options?: CallOptions): Promise<unknown> {
    return (await this.#host.reach()).call(method, args, options);
  }

  async *stream(
    method: string,
    args: readonly unknown[],
    options?: CallOptions,
  ): AsyncGenerator<unknown, void, undefined> {
    const way = await this.#host.reach();
    const release = this.#host.owned?.hold();
    try {
      yield* way.stream(method, args, options);
    } finally {
      release?.();
    }
  }

  async upload(
    method: string,
    args: readonly unknown[],
    body: AsyncIterable<Uint8Array>,
    options?: CallOptions,
  ): Promise<unknown> {
    return (await this.#host.reach()).upload(method, args, body, options);
  }

  async close(): Promise<void> {
    await this.#host.close();
  }
}
