import { createStore } from '../../../src/store/create-store.ts';
import type { StoreTarget } from '../../../src/testing/store-suite/store-target.ts';
import { rowsOf } from './rows-of.ts';
import { runSql } from './run-sql.ts';
import { StoreSchemas } from './store-schemas.ts';

/** Stores in a database. Who opens one beside another is a server of its own, as on another machine. */
export function postgresTarget(schemas: StoreSchemas = new StoreSchemas()): StoreTarget {
  return {
    name: 'PostgreSQL',
    randomRuns: 1,
    async open(opening = {}) {
      const engine = await schemas.open(opening);
      return { engine, store: createStore(engine, opening) };
    },
    async openBeside(opened, opening = {}) {
      const engine = await schemas.reopen(opened.engine, opening);
      return { engine, store: createStore(engine, opening) };
    },
    async stored({ engine }) {
      return rowsOf(schemas.urlOf(engine));
    },
    async spoilLine({ engine }, log, line) {
      const sql = 'DELETE FROM log_lines WHERE name = $1 AND nth = $2';
      await runSql(schemas.urlOf(engine), sql, [log, line]);
    },
  };
}
