import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { firstUse } from '../base/first-use.ts';
import type { Engine } from '../engine/engine.ts';
import { closeAll } from '../engine/files/disk/file-handles.ts';
import { openFilesEngine } from '../engine/files/open-files-engine.ts';
import type { FilesEngineOptions } from '../engine/files/open-files-engine.ts';
import { ownerAccess } from '../server/access/access.ts';
import type { BinaryServer } from '../server/binary/binary-server.ts';
import { listenAt, bindSocket } from '../server/local/listen.ts';
import type { CallTable } from '../server/calls/call-handler.ts';
import type { SearchSettings } from '../search/contract/search.ts';
import { keptStore, partsIn } from '../store/kept-store.ts';
import type { Store } from '../store/store.ts';

// A folder that this process owns, and the socket on which the process answers for it.
// Invariants
// - The socket exists only while the lock is held. It is bound after the lock was taken, and closed, which removes its
//   file, before the lock is released.
// - No request of another process keeps this process alive. It lives on for its own work, and for its own listeners.
// - The modules of the protocol are loaded with the first connection: most processes never see one.

/** The time that others may take to receive the last answers. After it they are cut off, and ask the next owner. */
const GRACE_MS = 500;
/** Connections that may wait before the modules that serve them are loaded. */
const EARLY_MAX = 1024;

export interface OwnedStoreOptions extends FilesEngineOptions {
  readonly search?: SearchSettings | boolean | undefined;
}

export class OwnedStore {
  readonly engine: Engine;
  /** The store over the same engine, for verbs that need the data at hand. */
  readonly store: Store;
  readonly #server: Server = createServer({
    // As for every server of the protocol: a peer may end its side before it has its last reply.
    allowHalfOpen: true,
    noDelay: true,
    // The socket is read once there is someone to read it.
    pauseOnConnect: true,
  });
  #early: Socket[] = [];
  #holds = 0;
  #serving: Promise<BinaryServer> | undefined;
  #closing: Promise<void> | undefined;

  /** LOCKED when another process owns the folder. */
  static async open(folder: string, given: OwnedStoreOptions): Promise<OwnedStore> {
    const { search, ...options } = given;
    const owned = new OwnedStore(await openFilesEngine(folder, { ...options, shares: true }), {
      folder,
      search,
      ...(options.clock !== undefined && { clock: options.clock }),
    });
    try {
      await bindSocket(folder, options.durability ?? 'safe', (path) =>
        listenAt(owned.#server, { path }),
      );
    } catch (error) {
      await owned.close().catch(() => undefined);
      throw error;
    }
    return owned;
  }

  private constructor(
    engine: Engine,
    { folder, clock, search: settings }: OwnedStoreOptions & { readonly folder: string },
  ) {
    const parts = partsIn(folder);
    const kept = keptStore(engine, { ...parts, settings, ...(clock !== undefined && { clock }) });
    this.engine = kept.engine;
    this.store = kept.store;
    this.#server.maxConnections = EARLY_MAX;
    this.#server.on('connection', (socket) => socket.unref());
    this.#server.on('connection', this.#keepWaiting);
    this.#server.unref();
  }

  /** Keeps the process alive until the result is called, as a connection to a server would. */
  hold(): () => void {
    this.#holds += 1;
    if (this.#holds === 1) this.#server.ref();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds -= 1;
      if (this.#holds === 0) this.#server.unref();
    };
  }

  /** Every verb by its name, as a client calls it. */
  readonly calls: () => Promise<CallTable> = firstUse(async () => {
    const { createCalls } = await import('../server/calls/create-calls.ts');
    return createCalls(this);
  });

  /** Answers the requests of others, closes the socket, then releases the folder. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= closeAll([() => this.#stopServing(), () => this.store.close()]);
    return this.#closing;
  }

  readonly #keepWaiting = (socket: Socket): void => {
    // A peer that goes away again is not a failure of this process.
    socket.on('error', () => undefined);
    this.#early.push(socket);
    this.#serving ??= this.#serve();
    this.#serving.catch(() => {
      for (const waiting of this.#early.splice(0)) waiting.destroy();
    });
  };

  async #serve(): Promise<BinaryServer> {
    const calls = await this.calls();
    const { BinaryServer } = await import('../server/binary/binary-server.ts');
    const binary = new BinaryServer({ served: this, calls });
    this.#server.off('connection', this.#keepWaiting);
    binary.attach(this.#server, ownerAccess);
    for (const socket of this.#early.splice(0)) {
      if (!socket.destroyed) this.#server.emit('connection', socket);
    }
    return binary;
  }

  async #stopServing(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    const binary = await this.#serving?.catch(() => undefined);
    await binary?.close(GRACE_MS);
    await closed;
  }
}
