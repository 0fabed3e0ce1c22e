import type { Engine } from '../../../src/engine/engine.ts';
import {
  openPostgresEngine,
  type PostgresEngineOptions,
} from '../../../src/engine/postgres/open-postgres-engine.ts';
import { freshDatabase } from './fresh-database.ts';
import { runOn } from './run-on.ts';

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
  /** How many engines are open on each. */
  readonly #used: Map<string, number> = new Map();
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
    await runOn(used, EMPTY);
    return this.#openAt(used, options);
  }

  /** Opens what `engine` was opened on, again or beside it. */
  async reopen(engine: Engine, options: PostgresEngineOptions = {}): Promise<Engine> {
    const url = this.urlOf(engine);
    this.#free = this.#free.filter((free) => free !== url);
    return this.#openAt(url, options);
  }

  urlOf(engine: Engine): string {
    return this.#urls.get(engine) ?? '';
  }

  async #openAt(url: string, options: PostgresEngineOptions): Promise<Engine> {
    this.#used.set(url, (this.#used.get(url) ?? 0) + 1);
    const engine = await openPostgresEngine(url, { connections: 3, ...options });
    this.#urls.set(engine, url);
    const close = engine.close.bind(engine);
    let closed = false;
    engine.close = async () => {
      await close();
      if (closed) return;
      closed = true;
      const others = (this.#used.get(url) ?? 1) - 1;
      this.#used.set(url, others);
      if (others === 0) this.#free.push(url);
    };
    return engine;
  }
}
