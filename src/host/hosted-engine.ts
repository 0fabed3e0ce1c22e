import { resolve } from 'node:path';
import type { RemoteEngine } from '../client/remote-engine.ts';
import type { Engine } from '../engine/engine.ts';
import type { StoreElsewhere } from '../store/store.ts';
import { ENGINE_METHODS } from '../wire/calls.ts';
import { forwarding } from './forwarding.ts';
import { Host } from './host.ts';
import type { HostOptions } from './host.ts';

/**
 * The engine of a folder that many processes use. If this process owns the files, the engine is the files themselves;
 * otherwise it is the owner's. Requests begun with an owner that is gone are finished with the next one. `remote` goes
 * through the host; undefined when this process owns the folder from the beginning.
 */
export function hostedEngine(host: Host, remote: RemoteEngine | undefined): Engine {
  const current = (): Engine => {
    const engine = host.owned?.engine ?? remote;
    if (engine === undefined) throw new TypeError('nobody answers for the store');
    return engine;
  };
  const upkeep = (): Engine['upkeep'] => current().upkeep;
  const records = (): Engine['upkeep']['records'] => upkeep().records;
  return {
    ...forwarding(current, [...ENGINE_METHODS, 'getBlob', 'viewBlob']),
    upkeep: {
      ...forwarding(upkeep, ['startCollection', 'check', 'eraseBlob', 'eraseLines', 'adopt']),
      // The owner may have been started in another working directory.
      backup: (to, progress) => upkeep().backup(resolve(to), progress),
      records: forwarding(records, ['turns', 'patches', 'sha256Names', 'erased', 'docs']),
    },
    get capabilities() {
      return current().capabilities;
    },
    // A listener keeps the process alive: other processes may commit changes.
    subscribe(listener, missed) {
      const stop = current().subscribe(listener, missed);
      const release = host.owned?.hold();
      return () => {
        stop();
        release?.();
      };
    },
    async close() {
      host.stopElecting();
      await remote?.close();
      await host.close();
    },
  };
}

export interface Hosted {
  readonly engine: Engine;
  /** For `createStore`, if the folder belonged to another process when it was opened. */
  readonly elsewhere?: StoreElsewhere;
}

/** The engine of a folder, whichever process owns it. LOCKED when the owner does not answer. */
export async function openHosted(folder: string, options: HostOptions): Promise<Hosted> {
  const host = await Host.open(folder, options);
  if (host.owned !== undefined) return { engine: hostedEngine(host, undefined) };
  // The modules that ask another process are loaded only where there is one.
  const [{ RemoteEngine }, { HostTransport }, { hostedVerbs }] = await Promise.all([
    import('../client/remote-engine.ts'),
    import('./host-transport.ts'),
    import('./hosted-verbs.ts'),
  ]);
  const remote = new RemoteEngine(new HostTransport(host), { timeoutMs: options.timeoutMs });
  return { engine: hostedEngine(host, remote), elsewhere: hostedVerbs(host, remote) };
}
