import { TIMEOUT_MS_DEFAULT } from '../client/retry.ts';
import type { Opened } from '../server/open-served.ts';
import { createStore } from '../store/create-store.ts';
import { partsIn } from '../store/kept-store.ts';
import { openHosted } from './host.ts';

/**
 * A folder to serve from this process, whichever process owns it: an agent may have it open while people look at it.
 * The owner's socket is the host's affair, so the server gets no folder for one.
 */
export async function openShared(place: string): Promise<Opened> {
  const { folder, queues } = partsIn(place);
  const { engine, elsewhere } = await openHosted(folder, {
    create: false,
    durability: 'safe',
    timeoutMs: TIMEOUT_MS_DEFAULT,
  });
  const store = createStore(engine, {
    folder,
    queues,
    served: true,
    ...(elsewhere !== undefined && { elsewhere }),
  });
  return { engine, store, name: place, folder: undefined };
}
