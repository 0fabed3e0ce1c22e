import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { QuipuError, isQuipuError, storeClosed } from '../base/errors.ts';
import { unavailable, isPassing, TIMEOUT_MS_DEFAULT } from '../client/transport.ts';
import type { Transport } from '../client/transport.ts';
import type { RemoteEngine } from '../client/remote-engine.ts';
import type { SocketTransport } from '../client/socket/socket-transport.ts';
import type { Engine } from '../engine/engine.ts';
import { readOwnerNote } from '../engine/files/disk/owner-note.ts';
import type { Search } from '../search/contract/search.ts';
import type { StoreElsewhere } from '../store/store.ts';
import { ENGINE_METHODS } from '../wire/calls.ts';
import { LocalTransport } from './local-transport.ts';
import { OwnedStore } from './owned-store.ts';
import type { OwnedStoreOptions } from './owned-store.ts';
import type { Opened } from '../server/open-served.ts';
import { createStore } from '../store/create-store.ts';
import { partsIn } from '../store/kept-store.ts';

// Finds the process that answers for a folder: this process, or the one that owns the folder.
// Invariants
// - Only the lock of the folder decides. A process that gets the lock answers for itself and for the others from then
//   on, until it closes: it never becomes a client again.
// - There is one election at a time; all callers that need an answer wait for it.
// - Only the first election creates a folder. If the folder vanishes later, nobody creates an empty one in its place.

export interface HostOptions extends Omit<OwnedStoreOptions, 'shares' | 'io' | 'shelves'> {
  readonly durability: 'safe' | 'unsafe';
  /** The time for a request to another process with all its attempts. */
  readonly timeoutMs: number;
  /** The time to wait for an owner that does not answer. Default 30 s, or nothing for one that never will. */
  readonly waitMs?: number;
}

const WAIT_MS = 30_000;
/** The wait in case the note was left by another process than the one that holds the lock now. */
const NOTE_STALE_MS = 200;
/** The least time for a connection, however little is left to wait. */
const CONNECT_MS_MIN = 500;
const FIRST_PAUSE_MS = 15;
/**
 * Processes that ask again and again take processor time from the owner they wait for: 50 of them made it ten times
 * slower.
 */
const PAUSE_MS_MAX = 1000;
/**
 * A client may be the next owner. The modules that it needs then are loaded after this time, unless the client is gone
 * by then.
 */
const PREPARE_MS = 1000;

export class Host {
  readonly #folder: string;
  readonly #options: HostOptions;
  /** Loaded and created when another process turns out to own the folder. */
  #socket: SocketTransport | undefined;
  readonly #local: LocalTransport = new LocalTransport(() => this.#mustOwn().calls());
  #owned: OwnedStore | undefined;
  #electing: Promise<Transport> | undefined;
  #preparing: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  /** Resolves once a process answers for the folder. LOCKED when the owner does not. */
  static async open(folder: string, options: HostOptions): Promise<Host> {
    const host = new Host(resolve(folder), options);
    try {
      await host.#elect(options.create ?? true);
    } catch (error) {
      await host.close();
      throw error;
    }
    if (host.owned === undefined) {
      host.#preparing = setTimeout(() => void prepare(), PREPARE_MS).unref();
    }
    return host;
  }

  private constructor(folder: string, options: HostOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Undefined while another process owns the folder. */
  get owned(): OwnedStore | undefined {
    return this.#owned;
  }

  /** The transport to the process that answers. Elects a new owner when none answers. UNAVAILABLE when that fails. */
  async reach(): Promise<Transport> {
    this.#assertOpen();
    if (this.#owned !== undefined) return this.#local;
    if (this.#socket?.isConnected === true) return this.#socket;
    this.#electing ??= this.#electAgain();
    return this.#electing;
  }

  /** Lets no further election begin; one in progress may finish. */
  stopElecting(): void {
    this.#closing ??= this.#settle();
  }

  async close(): Promise<void> {
    clearTimeout(this.#preparing);
    this.stopElecting();
    await this.#closing;
    await this.#local.close();
    await this.#socket?.close();
    await this.#owned?.close();
  }

  async #electAgain(): Promise<Transport> {
    try {
      return await this.#elect(false);
    } catch (error) {
      // The owner may be back in a moment, so the caller may try again.
      if (isQuipuError(error, 'LOCKED')) throw unavailable(error.message, error);
      throw error;
    } finally {
      this.#electing = undefined;
    }
  }

  async #elect(create: boolean): Promise<Transport> {
    let startedAt = performance.now();
    let owner: string | undefined;
    for (let attempt = 0; ; attempt += 1) {
      this.#assertOpen();
      const locked = await this.#tryToOwn(create);
      if (locked === undefined) return this.#local;
      const { pid, since } = readOwnerNote(this.#folder) ?? {};
      // The owner is a new one, so the wait starts again: where owners come and go, everyone's turn comes.
      if (pid !== undefined && owner !== `${pid} ${since}`) {
        owner = `${pid} ${since}`;
        startedAt = performance.now();
      }
      const leftMs = Math.ceil(startedAt + this.#waitMs() - performance.now());
      // One attempt is enough: an owner that is busy gets to it, and one that goes away cuts the connection.
      const connectMs = Math.max(CONNECT_MS_MIN, leftMs);
      this.#socket ??= await this.#openSocket();
      const silence = await this.#tryToConnect(this.#socket, connectMs);
      if (silence === undefined) return this.#socket;
      if (performance.now() - startedAt >= this.#waitMs()) throw nobodyAnswers(locked, silence);
      const pause = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10));
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  }

  /** LOCKED, as a value, when another process has the folder. */
  async #tryToOwn(create: boolean): Promise<QuipuError<'LOCKED'> | undefined> {
    const { timeoutMs: _, waitMs: __, ...options } = this.#options;
    try {
      this.#owned = await OwnedStore.open(this.#folder, { ...options, create });
      return undefined;
    } catch (error) {
      if (isQuipuError(error, 'LOCKED')) return error;
      throw error;
    }
  }

  async #openSocket(): Promise<SocketTransport> {
    const [{ SocketTransport }, { dialOwner }] = await Promise.all([
      import('../client/socket/socket-transport.ts'),
      import('./elsewhere.ts'),
    ]);
    const { durability, timeoutMs } = this.#options;
    return new SocketTransport({ dial: dialOwner(this.#folder, durability), timeoutMs });
  }

  /** Returns the reason why the owner could not be reached. Throws an error that waiting cannot help. */
  async #tryToConnect(socket: SocketTransport, timeoutMs: number): Promise<QuipuError | undefined> {
    try {
      await socket.connect(timeoutMs);
    } catch (error) {
      const { findWeakness } = await import('./elsewhere.ts');
      const weakness = findWeakness(this.#folder, this.#options.durability);
      if (weakness !== undefined) throw weakness;
      if (isQuipuError(error) && isPassing(error)) return error;
      throw error;
    }
    return undefined;
  }

  /** An owner that does not share keeps the folder until it closes, so only a caller that asked for a wait gets one. */
  #waitMs(): number {
    const { waitMs } = this.#options;
    if (waitMs !== undefined) return waitMs;
    return readOwnerNote(this.#folder)?.shares === false ? NOTE_STALE_MS : WAIT_MS;
  }

  async #settle(): Promise<void> {
    await this.#electing?.catch(() => undefined);
  }

  #mustOwn(): OwnedStore {
    if (this.#owned !== undefined) return this.#owned;
    throw new TypeError('calls within the process need a store that is here');
  }

  #assertOpen(): void {
    if (this.#closing === undefined) return;
    throw storeClosed();
  }
}

function nobodyAnswers(locked: QuipuError<'LOCKED'>, silence: QuipuError): QuipuError<'LOCKED'> {
  const message = `${locked.message} (${silence.message})`;
  return new QuipuError('LOCKED', message, locked.data, { cause: silence });
}

/** Ignores failures: they show when the modules are needed. */
async function prepare(): Promise<void> {
  await Promise.allSettled([
    import('../server/calls/create-calls.ts'),
    import('../server/binary/binary-server.ts'),
  ]);
}

/**
 * The engine of a folder that many processes use. If this process owns the files, the engine is the files themselves;
 * otherwise it is the owner's. Requests begun with an owner that is gone are finished with the next one. `remote` goes
 * through the host; undefined when this process owns the folder from the beginning.
 */
function hostedEngine(host: Host, remote: RemoteEngine | undefined): Engine {
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
      backup: (to, progress, also) => upkeep().backup(resolve(to), progress, also),
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
  /** Asks the process that owns the folder when it is called. */
  readonly search: Search;
  /** For `createStore`, if the folder belonged to another process when it was opened. */
  readonly elsewhere?: StoreElsewhere;
}

/** The engine of a folder, whichever process owns it. LOCKED when the owner does not answer. */
export async function openHosted(folder: string, options: HostOptions): Promise<Hosted> {
  const host = await Host.open(folder, options);
  if (host.owned !== undefined) {
    const { store } = host.owned;
    const search: Search = { search: (query, given) => store.search(query, given) };
    return { engine: hostedEngine(host, undefined), search };
  }
  // The modules that ask another process are loaded only where there is one.
  const { hostedRemote, hostedVerbs } = await import('./elsewhere.ts');
  const remote = hostedRemote(host, options.timeoutMs);
  const elsewhere = hostedVerbs(host, remote);
  return { engine: hostedEngine(host, remote), search: elsewhere, elsewhere };
}

/** These methods of whatever `current` returns when one of them is called. */
export function forwarding<T extends object, const Method extends keyof T & string>(
  current: () => T,
  methods: readonly Method[],
): Pick<T, Method> {
  const forwarded = methods.map((method) => [
    method,
    (...args: unknown[]): unknown => {
      const target = current();
      return (target[method] as (...given: unknown[]) => unknown).apply(target, args);
    },
  ]);
  return Object.fromEntries(forwarded) as Pick<T, Method>;
}

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
