import { afterAll } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { openPostgresEngine } from '../../../src/engine/postgres/postgres-engine.ts';
import { STORE_SCHEMA } from '../../../src/engine/postgres/schema.ts';
import type { Statement } from '../../../src/postgres/sql.ts';
import { freshDatabase } from './fresh-database.ts';
import { KeptDatabase } from './kept-database.ts';

/** The tables of a store, but for the two that say what they are and how far it is. */
const TABLES = STORE_SCHEMA.migrations
  .flatMap(({ sql }) => [...sql.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name = '']) => name))
  .filter((name) => name !== 'clock');

/**
 * Twenty tables take longer to make than most tests do: what one test leaves is emptied for the next. One
 * statement with a name, so that it is planned once for each connection.
 */
const EMPTY: Statement = {
  name: 'empty-store',
  text: `WITH ${['transactions', ...TABLES].map((name) => `of_${name} AS (DELETE FROM quipu.${name})`).join(', ')} DELETE FROM quipu.clock`,
};
const START: Statement = {
  name: 'start-clock',
  text: 'INSERT INTO quipu.clock DEFAULT VALUES RETURNING store',
};
const CONNECTIONS = 3;

interface Opening {
  readonly clock?: () => number;
}

/** One store, and who is connected to it. */
interface Place {
  readonly url: string;
  open: number;
  readonly idle: KeptDatabase[];
}

/** Engines for many short tests, each over an empty store of its own. */
export class StoreSchemas {
  readonly #database: Promise<string>;
  readonly #places: WeakMap<Engine, Place> = new WeakMap();
  readonly #all: KeptDatabase[] = [];
  #free: Place[] = [];
  #made = 0;

  /** In a database of its own on the server that the tests share, unless another one is given. */
  constructor(database: Promise<string> = freshDatabase()) {
    this.#database = database;
    afterAll(async () => {
      for (const each of this.#all) await each.end();
    });
  }

  async open(opening: Opening = {}): Promise<Engine> {
    const used = this.#free.shift();
    if (used !== undefined) {
      const database = this.#connect(used);
      // A connection that is made from now on must find the store that is expected, whichever engine makes it.
      const [clock] = await database.write(async (transaction) => {
        await transaction.query(EMPTY);
        return transaction.query<{ store: string }>(START);
      });
      for (const each of [database, ...used.idle]) each.expect(clock!.store);
      return this.#openAt(used, database, opening);
    }
    this.#made += 1;
    const place = { url: `${await this.#database}?schema=s${this.#made}`, open: 0, idle: [] };
    return this.#openAt(place, this.#connect(place), opening);
  }

  /** Opens what `engine` was opened on, again or beside it. */
  async reopen(engine: Engine, opening: Opening = {}): Promise<Engine> {
    const place = this.#places.get(engine)!;
    this.#free = this.#free.filter((free) => free !== place);
    return this.#openAt(place, this.#connect(place), opening);
  }

  urlOf(engine: Engine): string {
    return this.#places.get(engine)!.url;
  }

  #connect(place: Place): KeptDatabase {
    const idle = place.idle.pop();
    if (idle !== undefined) return idle;
    const database = new KeptDatabase(place.url, { connections: CONNECTIONS });
    this.#all.push(database);
    return database;
  }

  async #openAt(place: Place, database: KeptDatabase, opening: Opening): Promise<Engine> {
    place.open += 1;
    const engine = await openPostgresEngine(database, opening);
    this.#places.set(engine, place);
    const close = engine.close.bind(engine);
    let closed = false;
    engine.close = async () => {
      await close();
      if (closed) return;
      closed = true;
      place.open -= 1;
      place.idle.push(database);
      if (place.open === 0) this.#free.push(place);
    };
    return engine;
  }
}
