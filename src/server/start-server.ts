import { closeAll } from '../engine/files/disk/file-handles.ts';
import type { Served } from './calls/call-handler.ts';
import { chooseAccess } from './choose-access.ts';
import { fillDemo, writeSlowly } from './demo.ts';
import type { Demo } from './demo.ts';
import { createListeners } from './listeners.ts';
import type { Log } from './log/log.ts';
import { openServed } from './open-served.ts';
import { readTls } from './read-tls.ts';
import type { ServerOptions } from './server-options.ts';

// One process that serves one store: it opens the store, access control and the listeners, and closes them.
// Invariants
// - Nothing listens before everything that can be refused has been checked.
// - Everything that was opened is closed again in reverse order, whether starting failed or the server is done.
// - The store is closed last, after the listeners have answered the requests they had read: an acknowledgement that was
//   sent is durable, and an append that was read gets its answer.

export interface RunningServer {
  readonly store: string;
  readonly http: string;
  readonly tcp: string;
  /** The address for clients of cxdb, if there is one. */
  readonly cxdb?: string;
  /** The access in words. */
  readonly access: string;
  readonly tokensNeeded: boolean;
  /** Finishes the requests that were read, and after `graceMs` cuts off every client that is left. Idempotent. */
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
    // Check everything that can be refused before anything is made.
    const tls = options.tls && (await readTls(options.tls, log, Date.now()));
    const chosen = await chooseAccess(options);
    const { access } = chosen;
    closes.push(() => chosen.close());

    // Open the store.
    const opened = await (options.open ?? openServed)(options.store, options.search);
    const { name, folder, ...served } = opened;
    closes.push(() => served.store.close());
    const demo = options.demo ? await fillDemo(served.store) : undefined;

    // Listen.
    const listeners = createListeners(options, { served, access, tls, name });
    closes.push((graceMs) => listeners.close(graceMs));
    if (folder !== undefined) await listeners.listenLocally(folder);
    const tcp = await listeners.listenTcp();
    const http = await listeners.listenHttp();
    const cxdb = await listeners.listenCxdb();
    if (demo !== undefined) closes.push(startWriting(served, demo, log));

    log.debug({ store: name, http, tcp }, 'listening');
    let closing: Promise<void> | undefined;
    return {
      store: name,
      http,
      tcp,
      ...(cxdb !== undefined && { cxdb }),
      access: chosen.told,
      tokensNeeded: access.tokensNeeded,
      close(graceMs = GRACE_MS) {
        closing ??= closeAllOf(graceMs);
        return closing;
      },
    };
  } catch (error) {
    // The first error is the one to report.
    await closeAllOf(0).catch(() => undefined);
    throw error;
  }
}

/** The sample continues by itself for a minute, so that there is something to watch. */
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
