import { afterAll } from 'vitest';
import type { Engine } from '../../../src/engine/engine.ts';
import { openPostgresEngine } from '../../../src/engine/postgres/open-postgres-engine.ts';
import { freshDatabase } from './fresh-database.ts';
import { KeptDatabase } from './kept-database.ts';

/** Twenty tables take longer to make than most tests do: what one test leaves is emptied for the next. */
const EMPTY = `
DO $$ DECLARE t text; BEGIN
  FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema AND tablename NOT IN ('migrations', 'clock')
  LOOP EXECUTE 'DELETE FROM ' || t; END LOOP;
  DELETE FROM clock; INSERT INTO clock DEFAULT VALUES;
END $$`;
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
      await database.query(EMPTY);
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
