import { HttpTransport } from './client/http/http-transport.ts';
import { parseAddress, type Address } from './client/parse-address.ts';
import { RemoteEngine } from './client/remote-engine.ts';
import { remoteQueues, remoteVerbs } from './client/remote-verbs.ts';
import { TIMEOUT_MS_DEFAULT } from './client/transport.ts';
import { dialTo } from './client/socket/dial.ts';
import { SocketTransport } from './client/socket/socket-transport.ts';
import type { Transport } from './client/transport.ts';
import { createStore } from './store/create-store.ts';
import type { Store } from './store/store.ts';
import { given } from './base/given.ts';

export interface ConnectOptions {
  /** Authenticates the client, where the server asks for that. */
  readonly token?: string;
  /** The time for a request with all its attempts, default 30 seconds. Work on the whole store may take longer. */
  readonly timeoutMs?: number;
  /** Certificates to trust instead of the system's, as PEM. For `quipus://`. */
  readonly ca?: string;
  /** The largest payload that a turn may carry. */
  readonly maxPayloadBytes?: number;
}

/** A store that a server keeps. Resolves once the server has answered. */
export async function connectStore(url: string, options: ConnectOptions = {}): Promise<Store> {
  const address = parseAddress(url);
  const timeoutMs = options.timeoutMs ?? address.timeoutMs ?? TIMEOUT_MS_DEFAULT;
  const transport = openTransport(address, options, timeoutMs);
  const engine = new RemoteEngine(transport, { timeoutMs });
  try {
    // One attempt, so that a wrong address or token shows at once. Later requests may wait for a server that restarts.
    if (transport instanceof SocketTransport) await transport.connect();
    else await transport.call('engine.tips', [], { timeoutMs });
  } catch (error) {
    await engine.close();
    throw error;
  }
  return storeOver(engine, options);
}

/** The store over an engine in another process. */
export function storeOver(
  engine: RemoteEngine,
  { maxPayloadBytes }: Pick<ConnectOptions, 'maxPayloadBytes'> = {},
): Store {
  const elsewhere = remoteVerbs(engine);
  return createStore(engine, {
    elsewhere,
    search: elsewhere,
    queues: { queues: remoteQueues(engine) },
    ...given({ maxPayloadBytes }),
  });
}

function openTransport(address: Address, options: ConnectOptions, timeoutMs: number): Transport {
  const { token, ca } = options;
  if (address.kind === 'http') {
    return new HttpTransport(address.url, { timeoutMs, ...(token !== undefined && { token }) });
  }
  return new SocketTransport({ dial: dialTo(address, ca), token, timeoutMs });
}
