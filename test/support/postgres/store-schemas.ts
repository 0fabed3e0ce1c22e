import { Client } from 'pg';
import type { Engine } from '../../../src/engine/engine.ts';
import {
  openPostgresEngine,
  type PostgresEngineOptions,
} from '../../../src/engine/postgres/open-postgres-engine.ts';
import { freshDatabase } from './fresh-database.ts';

/** Twenty tables take longer to make than most tests do: what one test leaves is emptied for the next. */
const EMPTY = `
DO $$ DECLARE t text; BEGIN
  FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema AND tablename NOT IN ('migrations', 'clock')
  LOOP EXECUTE 'DELETE FROM ' || t; END LOOP;
  DELETE FROM clock; INSERT INTO clock DEFAULT VALUES;
END $$`;

/** Engines for many short tests, each over an empty store of its own. */
export class StoreSchemas {
  readonly #database: Promise<string>;
  readonly #urls: WeakMap<Engine, string> = new WeakMap();
  #free: string[] = [];
  #made = 0;

  /** In a database of its own on the server that the tests share, unless another one is given. */
  constructor(database: Promise<string> = freshDatabase()) {
    this.#database = database;
  }

  async open(options: PostgresEngineOptions = {}): Promise<Engine> {
    const used = this.#free.shift();
    if (used === undefined) {
      this.#made += 1;
      return this.#openAt(`${await this.#database}?schema=s${this.#made}`, options);
    }
    await empty(used);
    return this.#openAt(used, options);
  }

  /** Opens again what `engine`, which is closed, was opened on. */
  async reopen(engine: Engine, options: PostgresEngineOptions = {}): Promise<Engine> {
    const url = this.urlOf(engine);
    this.#free = this.#free.filter((free) => free !== url);
    return this.#openAt(url, options);
  }

  urlOf(engine: Engine): string {
    return this.#urls.get(engine) ?? '';
  }

  async #openAt(url: string, options: PostgresEngineOptions): Promise<Engine> {
    const engine = await openPostgresEngine(url, { connections: 3, ...options });
    this.#urls.set(engine, url);
    const close = engine.close.bind(engine);
    let closed = false;
    engine.close = async () => {
      await close();
      if (!closed) this.#free.push(url);
      closed = true;
    };
    return engine;
  }
}

async function empty(url: string): Promise<void> {
  const address = new URL(url);
  const schema = address.searchParams.get('schema');
  address.search = '';
  const client = new Client({
    connectionString: address.href,
    options: `-c search_path=${schema}`,
  });
  await client.connect();
  try {
    await client.query(EMPTY);
  } finally {
    await client.end();
  }
}
