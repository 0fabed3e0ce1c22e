import { RemoteEngine } from '../client/remote-engine.ts';
import { remoteVerbs } from '../client/remote-verbs.ts';
import type { Transport } from '../client/transport.ts';
import { readPage } from '../context/turns/read-pages.ts';
import type { StoreElsewhere } from '../store/store.ts';
import { forwarding } from './host.ts';
import type { Host } from './host.ts';
import type { OwnedStore } from './owned-store.ts';
import { type QuipuError, locked } from '../base/errors.ts';
import { unavailable } from '../client/transport.ts';
import { dialTo } from '../client/socket/dial.ts';
import type { Dial } from '../client/socket/dial.ts';
import { nameOwner, readOwnerNote } from '../engine/files/disk/owner-note.ts';
import { placeOf } from '../server/local/listen.ts';

// A folder that another process owned when it was opened.

/** The engine of whichever process answers for the folder when it is asked. */
export function hostedRemote(host: Host, timeoutMs: number): RemoteEngine {
  return new RemoteEngine(hostTransport(host), { timeoutMs });
}

/**
 * Sends calls to the process that answers for the folder at that moment. A call that is sent again after its owner was
 * lost reaches the next owner, which may be this very process. It has the same arguments, and so the same key.
 */
function hostTransport(host: Host): Transport {
  return {
    call: async (...given) => (await host.reach()).call(...given),
    async *stream(...given) {
      const way = await host.reach();
      const release = host.owned?.hold();
      try {
        yield* way.stream(...given);
      } finally {
        release?.();
      }
    },
    upload: async (...given) => (await host.reach()).upload(...given),
    close: () => host.close(),
  };
}

/** Verbs that need the data at hand. They run here once this process owns the data, and in the owner until then. */
export function hostedVerbs(host: Host, remote: RemoteEngine): StoreElsewhere {
  const there = remoteVerbs(remote);
  return forwarding(
    () => (host.owned === undefined ? there : verbsOf(host.owned)),
    ['readPage', 'gc', 'retain', 'eraseTurn', 'eraseBlob', 'search'],
  );
}

function verbsOf({ engine, store }: OwnedStore): StoreElsewhere {
  const { maintain, contexts, blobs } = store;
  return {
    readPage: (request, read) => readPage(engine, request, read),
    gc: (options) => maintain.gc(options),
    retain: (policy, options) => maintain.retain(policy, options),
    eraseTurn: (turn, options) => contexts.erase(turn, options),
    eraseBlob: (ref, options) => blobs.erase(ref, options),
    search: (query, options) => store.search(query, options),
  };
}

export type Durability = 'safe' | 'unsafe';

/**
 * Begins a connection to the owner that the folder has by then. Leaves an owner that promises less than was asked for
 * before anything is sent.
 */
export function dialOwner(folder: string, wanted: Durability): Dial {
  return () => {
    const path = placeOf(folder, readOwnerNote(folder));
    if (path === undefined)
      throw unavailable('the process that has the store open names no socket');
    const dialled = dialTo({ kind: 'unix', path })();
    const { socket } = dialled;
    // Not earlier: the owner that is connected now wrote its note before it listened.
    socket.once('connect', () => {
      const problem = findWeakness(folder, wanted);
      if (problem !== undefined) socket.destroy(problem);
    });
    return dialled;
  };
}

/** LOCKED when the owner acknowledges before the disk does, and a caller here relies on the disk. */
export function findWeakness(folder: string, wanted: Durability): QuipuError<'LOCKED'> | undefined {
  const note = readOwnerNote(folder);
  if (wanted === 'unsafe' || note?.durability !== 'unsafe') return undefined;
  const owner = nameOwner(note);
  return locked(
    'store',
    owner,
    `the store at ${folder} is in use by ${owner}, which opened it as unsafe; close it there, or ask for durability: "unsafe" here too`,
  );
}
