import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { searchSuite } from '../../src/testing/search-suite/search-suite.ts';
import { runSql } from '../support/postgres/run-sql.ts';
import { SearchSchemas } from '../support/postgres/search-schemas.ts';

const schemas = new SearchSchemas();
const root = mkdtempSync(join(tmpdir(), 'quipu-search-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Everything that the tables and indexes of search have in their files. */
const FILES = `SELECT relname AS name, pg_read_binary_file(pg_relation_filepath(oid)) AS bytes
  FROM pg_class WHERE relkind IN ('r', 'i', 't') AND pg_relation_filepath(oid) IS NOT NULL
    AND (relnamespace = current_schema::regnamespace AND relname LIKE 'search%'
      OR oid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'search_docs'::regclass))`;

searchSuite({
  name: 'PostgreSQL',
  randomRuns: 2,
  open: (opening) => schemas.open(opening),
  sessionFolder: () => mkdtempSync(join(root, 'sessions-')),
  async indexBytes(store) {
    const url = schemas.urlOf(store);
    // What it takes to have no old bytes in the files is the operator's to do: docs/design/search.md says so.
    await runSql(url, 'VACUUM FULL search_docs');
    await runSql(url, 'CHECKPOINT');
    const files = await runSql(url, FILES);
    return files.map(({ name, bytes }) => [String(name), bytes as Uint8Array] as const);
  },
});
