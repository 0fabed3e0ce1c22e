import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDatabase } from './create-database.ts';
import { type Installation, prepareInstallation } from './installation.ts';
import { Supervisor } from './supervisor.ts';

export interface PostgresServerOptions {
  /** Whether a commit is synced, as a real server does. Off unless the test pulls the plug. */
  readonly durable?: boolean;
  /** More settings, such as `max_connections`. */
  readonly settings?: Readonly<Record<string, string>>;
}

const USER = 'quipu';
/** A colon and a slash, as real passwords have: they must be written encoded. */
const PASSWORD = 'p:w/d';

/** Small and quick on two processors. No background work that a test could wait for. */
const SMALL = {
  shared_buffers: '32MB',
  max_connections: '120',
  io_method: 'sync',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  dynamic_shared_memory_type: 'mmap',
  unix_socket_directories: '',
  listen_addresses: '127.0.0.1',
};
const UNSYNCED = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // It would look at the databases of all tests again and again, and they are gone soon.
  autovacuum: 'off',
};

/** Below the ports that systems hand out for outgoing connections, so that it is free after a restart. */
const PORT_MIN = 20_000;
const PORT_COUNT = 12_000;
const PORT_TRIES = 20;

/**
 * A real PostgreSQL in a temporary folder. It never outlives the process that started it, even when
 * that one is killed. Its databases sort by the rules of English unless told otherwise, as most real
 * ones do, so that a statement that relies on the order of bytes and does not say so is found out.
 */
export class PostgresServer {
  readonly #installation: Installation;
  readonly #settings: Readonly<Record<string, string>>;
  #port = 0;
  #run: Supervisor | undefined;

  private constructor(options: PostgresServerOptions) {
    this.#installation = prepareInstallation(options.durable === true);
    this.#settings = {
      ...SMALL,
      ...(options.durable === true ? {} : UNSYNCED),
      ...options.settings,
    };
  }

  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const server = new PostgresServer(options);
    server.#initialise();
    for (let tried = 1; ; tried++) {
      server.#port = PORT_MIN + Math.floor(Math.random() * PORT_COUNT);
      try {
        await server.start();
        return server;
      } catch (error) {
        const isTaken = String(error).includes('could not bind');
        if (isTaken && tried < PORT_TRIES) continue;
        await server.dispose();
        throw error;
      }
    }
  }

  /** Of the database all servers have. Tests ask for a database of their own. */
  get url(): string {
    const password = encodeURIComponent(PASSWORD);
    return `postgres://${USER}:${password}@127.0.0.1:${this.#port}/postgres`;
  }

  /** The URL of a new, empty database. */
  async createDatabase(): Promise<string> {
    return createDatabase(this.url);
  }

  /** Starts it again after `stop` or `kill`, with the same data at the same address. */
  async start(): Promise<void> {
    const settings = Object.entries({ ...this.#settings, port: String(this.#port) });
    const args = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#run = new Supervisor(this.#installation, ['-D', this.#data, ...args]);
    await this.#run.ready();
  }

  /** Ends every connection and leaves a clean folder. */
  async stop(): Promise<void> {
    await this.#run?.signal('INT');
    this.#run = undefined;
  }

  /** As `kill -9`: no process of the server is left, and nothing was put in order. */
  async kill(): Promise<void> {
    await this.#run?.signal('KILL');
    this.#run = undefined;
  }

  async dispose(): Promise<void> {
    await this.#run?.discard();
    this.#run = undefined;
    rmSync(this.#installation.folder, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#installation.folder, 'data');
  }

  #initialise(): void {
    const { folder, initdb, user } = this.#installation;
    const passwordFile = join(folder, `password-${randomBytes(4).toString('hex')}`);
    writeFileSync(passwordFile, PASSWORD);
    const options = [
      `--pgdata=${this.#data}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      // Passwords are checked, and need not be hard to guess.
      '--set=scram_iterations=1',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=icu',
      '--icu-locale=en-US',
      '--no-instructions',
      '--no-sync',
    ];
    const how = { ...user, cwd: folder, encoding: 'utf8' } as const;
    const { status, stderr } = spawnSync(initdb, options, how);
    if (status === 0) return;
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`initdb failed:\n${stderr}`);
  }
}
