import type { Engine } from '../engine/engine.ts';
import type { StoreElsewhere } from '../store/store-elsewhere.ts';
import { Host } from './host.ts';
import type { HostOptions } from './host.ts';
import { hostedEngine } from './hosted-engine.ts';

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
