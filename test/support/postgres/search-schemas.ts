import { STORE_SCHEMA } from '../../../src/engine/postgres/schema.ts';
import { openDatabase, type OpenOptions } from '../../../src/open-store.ts';
import { QUEUE_TABLES } from '../../../src/queue/postgres/tables/schema.ts';
import { SEARCH_TABLES } from '../../../src/search/postgres/schema.ts';
import type { Store } from '../../../src/store/store.ts';
import { freshDatabase } from './fresh-database.ts';
import { runSql } from './run-sql.ts';

const TABLES = [STORE_SCHEMA, QUEUE_TABLES, SEARCH_TABLES].flatMap(({ migrations }) =>
  migrations.flatMap(({ sql }) =>
    [...sql.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name = '']) => name),
  ),
);
const ONE_ROW = ['clock', 'search_state'];
/** Thirty tables take longer to make than most tests do: what one test leaves is emptied for the next. */
const EMPTY = [
  ...TABLES.map((name) => `DELETE FROM ${name}`),
  ...ONE_ROW.map((name) => `INSERT INTO ${name} DEFAULT VALUES`),
].join(';');

/** Stores with a search index, for many short tests. */
export class SearchSchemas {
  readonly #database: Promise<string> = freshDatabase();
  readonly #urls = new WeakMap<Store, string>();
  readonly #free: string[] = [];
  #made = 0;

  async open(options: OpenOptions = {}): Promise<Store> {
    const used = this.#free.pop();
    if (used !== undefined) await runSql(used, EMPTY);
    else this.#made += 1;
    const url = used ?? `${await this.#database}?schema=s${this.#made}`;
    const opened = await this.openAt(url, options);
    const store: Store = {
      ...opened,
      close: async () => {
        await opened.close();
        // A store that never searched has no tables to be emptied.
        const [row] = await runSql(url, `SELECT to_regclass('search_state') IS NOT NULL AS there`);
        if (row?.['there'] === true) this.#free.push(url);
      },
    };
    this.#urls.set(store, url);
    return store;
  }

  /** A server of its own on the same store, as on another machine. */
  async openAt(url: string, options: OpenOptions = {}): Promise<Store> {
    const store = await openDatabase(url, { connections: 4, ...options });
    this.#urls.set(store, url);
    return store;
  }

  urlOf(store: Store): string {
    return this.#urls.get(store) ?? '';
  }
}
