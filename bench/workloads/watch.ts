import { openStore } from '../../src/index.ts';
import type { Store, StoreEvent } from '../../src/index.ts';
import { openDatabase } from '../../src/open-store.ts';
import { PostgresServer } from '../../test/support/postgres/postgres-server.ts';
import { ServerProcess } from '../drivers/server-process.ts';
import { StoreHistory } from '../drivers/store-history.ts';
import { Payloads } from '../payloads.ts';
import type { Result, Trial } from './workload.ts';

const WRITERS = 8;

/** `size` durable appends by eight writers over TCP, and one watcher, each with a connection of its own. */
export async function watch(trial: Trial): Promise<Result> {
  const server = await ServerProcess.start(trial.folder);
  try {
    return await deliver(trial, () => openStore(server.addresses.tcp));
  } finally {
    await server.stop();
  }
}

/** The same on PostgreSQL: eight writers in one server, and the watcher in another. */
export async function watchDatabase(trial: Trial): Promise<Result> {
  const server = await PostgresServer.start({ durable: true });
  try {
    const url = await server.createDatabase();
    return await deliver(trial, () => openDatabase(url, { connections: WRITERS }));
  } finally {
    await server.dispose();
  }
}

/**
 * `share` is how many of the events the watcher had when the last append was acknowledged;
 * `behind` how many it was behind at the worst moment, and `drainMs` how long it took to have them all.
 */
async function deliver({ size, payloadBytes }: Trial, open: () => Promise<Store>): Promise<Result> {
  const watcher = await open();
  const stores = await Promise.all(Array.from({ length: WRITERS }, open));
  const writers = stores.map((store) => new StoreHistory(store));
  const threads = await Promise.all(writers.map((writer) => writer.create()));
  const news = await News.of(watcher);

  const payloads = new Payloads(payloadBytes);
  let written = 0;
  let behind = 0;
  const write = async (writer: StoreHistory, thread: number, most: number): Promise<void> => {
    const payload = payloads.next();
    while (written < most) {
      written += 1;
      await writer.append(thread, payloads.renew(payload));
      behind = Math.max(behind, written - WRITERS - news.heard);
    }
  };
  const run = async (most: number): Promise<void> => {
    await Promise.all(writers.map((writer, nth) => write(writer, threads[nth] ?? 0, most)));
  };
  // The first half warms all of it up.
  await run(size);
  behind = 0;
  const started = performance.now();
  await run(2 * size);
  const [left, ended] = [2 * size - news.heard, performance.now()];
  await news.until(2 * size);
  const drainMs = performance.now() - ended;
  await news.stop();
  for (const store of [...stores, watcher]) await store.close();
  const perSecond = (size * 1000) / (ended - started);
  return { share: Math.max(0, 1 - left / size), behind, drainMs, perSecond };
}

/** Counts turns, and fails when one is missing or comes twice. */
class News {
  heard = 0;
  readonly #aborter: AbortController;
  readonly #done: Promise<void>;
  #tell: () => void = () => undefined;

  private constructor(events: AsyncIterator<StoreEvent>, aborter: AbortController) {
    this.#aborter = aborter;
    this.#done = this.#run(events);
  }

  /** Resolves when whatever is appended from now on is told. */
  static async of(store: Store): Promise<News> {
    const aborter = new AbortController();
    const { signal } = aborter;
    const events = store.watch({ kinds: ['turn.appended'] }, { signal })[Symbol.asyncIterator]();
    await events.next();
    return new News(events, aborter);
  }

  async until(count: number): Promise<void> {
    const enough = new Promise<void>((resolve) => {
      this.#tell = () => {
        if (this.heard >= count) resolve();
      };
      this.#tell();
    });
    await Promise.race([enough, this.#done]);
  }

  async stop(): Promise<void> {
    this.#aborter.abort();
    await this.#done;
  }

  async #run(events: AsyncIterator<StoreEvent>): Promise<void> {
    for (;;) {
      const next = await events.next();
      if (next.done === true) return;
      const event = next.value;
      if (event.kind !== 'turn.appended') continue;
      this.heard += 1;
      if (event.turn.id !== BigInt(this.heard)) {
        throw new Error(`turn ${event.turn.id} was told in the place of turn ${this.heard}`);
      }
      this.#tell();
    }
  }
}
