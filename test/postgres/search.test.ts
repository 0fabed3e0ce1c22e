import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { PATIENCE } from '../../src/testing/patience.ts';
import { searchSuite } from '../../src/testing/search-suite/search-suite.ts';
import { runSql } from '../support/postgres/run-sql.ts';
import { SearchSchemas } from '../support/postgres/search-schemas.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

const schemas = new SearchSchemas();
const root = freshFolder('quipu-search-', afterAll);

/** Everything that the tables and indexes of search have in their files. */
const FILES = `SELECT relname AS name, pg_read_binary_file(pg_relation_filepath(oid)) AS bytes
  FROM pg_class WHERE relkind IN ('r', 'i', 't') AND pg_relation_filepath(oid) IS NOT NULL
    AND (relnamespace = current_schema::regnamespace AND relname LIKE 'search%'
      OR oid = (SELECT reltoastrelid FROM pg_class WHERE oid = 'search_docs'::regclass))`;

/** Rows that an older snapshot may still see survive a vacuum. Other tests have transactions in this database. */
async function oldSnapshotsGone(url: string): Promise<void> {
  const [now] = await runSql(url, 'SELECT pg_current_xact_id()::text AS xid');
  const older = `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE backend_xmin IS NOT NULL AND age(backend_xmin) > age('${String(now?.['xid'])}'::xid)`;
  await expect.poll(async () => (await runSql(url, older))[0]?.['count'], PATIENCE).toBe(0);
}

searchSuite({
  name: 'PostgreSQL',
  randomRuns: 2,
  open: (opening) => schemas.open(opening),
  sessionFolder: () => mkdtempSync(join(root, 'sessions-')),
  async indexBytes(store) {
    const url = schemas.urlOf(store);
    // What it takes to have no old bytes in the files is the operator's to do: docs/design/search.md says so.
    await oldSnapshotsGone(url);
    await runSql(url, 'VACUUM FULL search_docs');
    await runSql(url, 'CHECKPOINT');
    const files = await runSql(url, FILES);
    return files.map(({ name, bytes }) => [String(name), bytes as Uint8Array] as const);
  },
});
