import { resolve } from 'node:path';
import type { RemoteEngine } from '../client/remote-engine.ts';
import type { Engine } from '../engine/engine.ts';
import { ENGINE_METHODS } from '../wire/calls.ts';
import { forwarding } from './forwarding.ts';
import type { Host } from './host.ts';

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
