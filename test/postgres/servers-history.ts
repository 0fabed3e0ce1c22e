import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { toContextId } from '../../src/base/brand.ts';
import { isOutcomeUnknown } from '../../src/client/transport.ts';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { checkHistory } from '../service/check-history.ts';
import type { AppendAsked, Operation } from '../service/check-history.ts';
import { readChains } from '../service/history-run.ts';
import { projectPath } from '../support/project.ts';
import { PostgresServer } from '../support/postgres/postgres-server.ts';

// Servers over one database, each with writers of its own, while servers and the database are killed. All writers
// append to the same contexts and note what they ask for and what they are told.

const SERVERS = 3;
const WRITERS = 30;
const CONTEXTS = 6;
const DATABASE_AWAY_MS = 400;

export interface HistoryOptions {
  readonly seconds: number;
  /** Seconds after the beginning at which the database is killed. */
  readonly databaseKills: readonly number[];
  readonly serverKillMs: number;
  /** How long a writer waits for an answer, and then does not know. */
  readonly timeoutMs?: number;
  /** Writers that do not know whether it was done do it again. */
  readonly blind?: boolean;
}

export interface History {
  /** What the checker found. */
  readonly problems: readonly string[];
  readonly acknowledged: number;
  readonly serverKills: number;
  readonly databaseKills: number;
  readonly errors: readonly string[];
}

/** One `quipu serve`, which comes back at the same port after it was killed. */
class Served {
  readonly #url: string;
  #child: ChildProcess | undefined;
  #port = 0;

  constructor(url: string) {
    this.#url = url;
  }

  get address(): string {
    return `quipu://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const child = spawn(
      process.execPath,
      [projectPath('dist/cli/main.js'), 'serve', '--json', '--log-level', 'silent'].concat([
        '--port',
        '0',
        '--tcp-port',
        String(this.#port),
      ]),
      { env: { ...process.env, QUIPU_STORE: this.#url }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    this.#child = child;
    let said = '';
    for await (const piece of child.stdout) {
      said += String(piece);
      if (said.includes('\n')) break;
    }
    const { tcp } = JSON.parse(said) as { tcp: string };
    this.#port = Number(new URL(tcp).port);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

export async function runHistory(options: HistoryOptions): Promise<History> {
  const database = await PostgresServer.start({ durable: true });
  const servers: Served[] = [];
  try {
    const url = await database.createDatabase();
    const contexts = await createContexts(url);
    for (let n = 0; n < SERVERS; n += 1) servers.push(new Served(url));
    await Promise.all(servers.map((server) => server.start()));
    const run = new Run(contexts, options);
    const writing = Promise.all(servers.map((server, n) => run.write(server.address, `s${n}`)));
    const [serverKills] = await Promise.all([
      killServers(servers, options),
      killDatabase(database, options),
    ]);
    run.isOver = true;
    await writing;
    const { operations, errors } = run;
    const acknowledged = operations.filter((one) => 'parent' in one).length;
    const problems = checkHistory(operations, await readChains(url, contexts));
    const databaseKills = options.databaseKills.length;
    return { problems, acknowledged, serverKills, databaseKills, errors };
  } finally {
    await Promise.all(servers.map((server) => server.kill()));
    await database.dispose();
  }
}

async function createContexts(url: string): Promise<string[]> {
  await using store = await openStore(url);
  const ids: string[] = [];
  for (let n = 0; n < CONTEXTS; n += 1) ids.push(String((await store.contexts.create()).id));
  return ids;
}

/** One that is there at a time; it comes back while the others go on. */
async function killServers(
  servers: readonly Served[],
  { seconds, serverKillMs }: HistoryOptions,
): Promise<number> {
  const endAt = performance.now() + seconds * 1000;
  const there = [...servers];
  const starting: Promise<void>[] = [];
  let kills = 0;
  for (;;) {
    await sleep(serverKillMs);
    if (performance.now() >= endAt) break;
    const server = there.shift();
    if (server === undefined) continue;
    kills += 1;
    await server.kill();
    starting.push(startAgain(server).then(() => void there.push(server)));
  }
  await Promise.all(starting);
  return kills;
}

/** A server does not start while there is no database. */
async function startAgain(server: Served): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await server.start();
      return;
    } catch (error) {
      if (tries === 50) throw error;
      await sleep(100);
    }
  }
}

async function killDatabase(
  database: PostgresServer,
  { databaseKills }: HistoryOptions,
): Promise<void> {
  const begunAt = performance.now();
  for (const at of databaseKills) {
    await sleep(Math.max(0, at * 1000 - (performance.now() - begunAt)));
    await database.kill();
    await sleep(DATABASE_AWAY_MS);
    await database.start();
  }
}

class Run {
  readonly operations: Operation[] = [];
  readonly errors: string[] = [];
  isOver = false;
  readonly #contexts: readonly string[];
  readonly #options: HistoryOptions;

  constructor(contexts: readonly string[], options: HistoryOptions) {
    this.#contexts = contexts;
    this.#options = options;
  }

  async write(address: string, name: string): Promise<void> {
    const { timeoutMs } = this.#options;
    await using store = await openStore(address, timeoutMs === undefined ? {} : { timeoutMs });
    const writers = Array.from({ length: WRITERS }, (_, nth) => this.#writer(store, name, nth));
    await Promise.all(writers);
  }

  async #writer(store: Store, name: string, nth: number): Promise<void> {
    for (let n = 0; !this.isOver; n += 1) {
      const context = this.#contexts[(nth + n) % this.#contexts.length] ?? '';
      await this.#append(store, context, `${name}-${nth}-${n}`);
      if (n % 4 === 0) await this.#look(store, context);
      await sleep(60 + Math.random() * 180);
    }
  }

  async #append(store: Store, context: string, name: string): Promise<void> {
    const asked: AppendAsked = { kind: 'append', name, context, invokedAt: now() };
    const at = this.operations.push(asked) - 1;
    for (;;) {
      try {
        const given = { type: 'note', payload: name };
        const turn = await store.contexts.append(toContextId(BigInt(context)), given);
        const [id, parent] = [String(turn.id), String(turn.parent)];
        const { depth } = turn;
        this.operations[at] = { ...asked, answeredAt: now(), turn: id, parent, depth };
        return;
      } catch (error) {
        this.errors.push(String((error as { code?: string }).code ?? error));
        const isUnknown = isOutcomeUnknown(error);
        if (!isUnknown) this.operations[at] = { ...asked, failed: true };
        if (!isUnknown || this.#options.blind !== true) return;
      }
    }
  }

  async #look(store: Store, context: string): Promise<void> {
    const invokedAt = now();
    try {
      const found = await store.contexts.get(toContextId(BigInt(context)));
      const turn = String(found?.head ?? 0n);
      const depth = turn === '0' ? -1 : (found?.headDepth ?? -1);
      this.operations.push({ kind: 'head', context, turn, depth, invokedAt, answeredAt: now() });
    } catch (error) {
      this.errors.push(String((error as { code?: string }).code ?? error));
    }
  }
}

function now(): bigint {
  return process.hrtime.bigint();
}
