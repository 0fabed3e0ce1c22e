import { join, resolve } from 'node:path';
import { QuipuError, isQuipuError } from '../base/errors.ts';
import type { Engine } from '../engine/engine.ts';
import { closeAll } from '../engine/files/close-all.ts';
import { openFilesEngine } from '../engine/files/open-files-engine.ts';
import { createStore } from '../store/create-store.ts';
import { chooseAccess } from './choose-access.ts';
import type { Demo } from './demo/fill-demo.ts';
import { fillDemo } from './demo/fill-demo.ts';
import { writeSlowly } from './demo/write-slowly.ts';
import { createListeners } from './listeners.ts';
import type { Log } from './log.ts';
import { readTls } from './read-tls.ts';
import type { Served } from './served.ts';
import type { ServerOptions } from './server-options.ts';

// One process that serves one store: the store, who is let in, the two listeners, and their end.
// Invariants
// - Nothing listens before everything that can be refused has been looked at.
// - What was opened is closed again in reverse order, whether starting failed or the server is done.
// - The store is closed last, after the listeners have answered what they had read: an acknowledgement
//   that was sent is durable, and an append that was read gets its answer.

export interface RunningServer {
  readonly store: string;
  readonly http: string;
  readonly tcp: string;
  /** Who is let in, in words. */
  readonly access: string;
  readonly tokensNeeded: boolean;
  /** Finishes what was read, and after `graceMs` cuts off who has not gone. Idempotent. */
  close(graceMs?: number): Promise<void>;
}

const GRACE_MS = 10_000;

type Close = (graceMs: number) => Promise<void> | void;

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log } = options;
  const closes: Close[] = [];
  const closeAllOf = (graceMs: number): Promise<void> =>
    closeAll(closes.toReversed().map((close) => async () => await close(graceMs)));
  try {
    // Look at everything that can be refused before anything is made.
    const tls = options.tls && (await readTls(options.tls, log, Date.now()));
    const chosen = await chooseAccess(options);
    const { access } = chosen;
    closes.push(() => chosen.close());

    // Open the store.
    const engine = await openToServe(options.store);
    const folder = resolve(options.store);
    const queues = { folder: join(folder, 'queues') };
    const served: Served = { engine, store: createStore(engine, { folder, queues }) };
    closes.push(() => served.store.close());
    const demo = options.demo ? await fillDemo(served.store) : undefined;

    // Listen.
    const listeners = createListeners(options, { served, access, tls });
    closes.push((graceMs) => listeners.close(graceMs));
    await listeners.listenLocally();
    const tcp = await listeners.listenTcp();
    const http = await listeners.listenHttp();
    if (demo !== undefined) closes.push(startWriting(served, demo, log));

    log.info({ store: options.store, http, tcp }, 'listening');
    let closing: Promise<void> | undefined;
    return {
      store: options.store,
      http,
      tcp,
      access: chosen.told,
      tokensNeeded: access.tokensNeeded,
      close(graceMs = GRACE_MS) {
        closing ??= closeAllOf(graceMs);
        return closing;
      },
    };
  } catch (error) {
    // What went wrong first is what to tell.
    await closeAllOf(0).catch(() => undefined);
    throw error;
  }
}

/** A server answers for the store, so it must be its owner. */
async function openToServe(store: string): Promise<Engine> {
  try {
    return await openFilesEngine(store, { shares: true });
  } catch (error) {
    if (!isQuipuError(error, 'LOCKED')) throw error;
    const message = `${error.data.owner} has the store at ${store} open, and a server must own it; end that process, or, if it is a server, use its address`;
    throw new QuipuError('LOCKED', message, error.data, { cause: error });
  }
}

/** The sample goes on by itself for a minute, so that there is something to watch. */
function startWriting({ store }: Served, { live }: Demo, log: Log): Close {
  const end = new AbortController();
  const writing = writeSlowly(store, live, { signal: end.signal }).catch((err: unknown) => {
    log.warn({ err }, 'the sample could not be written on');
  });
  return () => {
    end.abort();
    return writing;
  };
}
