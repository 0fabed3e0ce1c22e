import { QuipuError, isQuipuError } from '../base/errors.ts';
import { parsePlace } from '../base/place.ts';
import type { Engine } from '../engine/engine.ts';
import { openFilesEngine } from '../engine/files/open-files-engine.ts';
import { nameOfPlace } from '../postgres/address.ts';
import { keptStore, partsIn, openDatabaseParts } from '../store/kept-store.ts';
import type { Served } from './calls/call-handler.ts';

/** A store for a server to serve. */
export interface Opened extends Served {
  /** The name for logs and people: never with a password. */
  readonly name: string;
  /** The folder where other processes of this machine look for a socket; a database has no such place. */
  readonly folder: string | undefined;
}

export async function openServed(place: string, settings: boolean = true): Promise<Opened> {
  if (parsePlace(place).kind === 'database') {
    const { engine, ...parts } = await openDatabaseParts(place);
    const kept = keptStore(engine, { ...parts, settings, served: true });
    return { ...kept, name: nameOfPlace(place), folder: undefined };
  }
  const parts = partsIn(place);
  const kept = keptStore(await openFolder(place), { ...parts, settings, served: true });
  return { ...kept, name: place, folder: parts.folder };
}

/** A server answers for the store, so the server must be its owner. */
async function openFolder(store: string): Promise<Engine> {
  try {
    return await openFilesEngine(store, { shares: true });
  } catch (error) {
    if (!isQuipuError(error, 'LOCKED')) throw error;
    const message = `${error.data.owner} has the store at ${store} open, and a server must own it; end that process, or, if it is a server, use its address`;
    throw new QuipuError('LOCKED', message, error.data, { cause: error });
  }
}
