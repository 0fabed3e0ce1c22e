import { unsupported } from '../base/errors.ts';
import type { Database } from './database.ts';

/** Plain SQL that takes the tables from the version before to this one. */
export interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** A set of tables that change together, with the migrations that made them. Never edit a released migration. */
export interface SchemaPart {
  readonly name: string;
  readonly migrations: readonly Migration[];
}

/** The tables that every schema part needs. */
const FOUNDATION = `
CREATE TABLE IF NOT EXISTS quipu.migrations (
  part text NOT NULL,
  version integer NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (part, version)
);
CREATE TABLE IF NOT EXISTS quipu.transactions (
  token uuid PRIMARY KEY,
  done boolean NOT NULL
);`;

const VERSION = 'SELECT coalesce(max(version), 0) AS version FROM quipu.migrations WHERE part = $1';

/**
 * Brings a part up to date, also when several processes try at once. Returns true if there were no tables of it before.
 * Throws UNSUPPORTED for a part that is newer.
 */
export async function migrate(database: Database, part: SchemaPart): Promise<boolean> {
  await layFoundation(database);
  const found = await database.query<{ version: number }>(VERSION, [part.name]);
  if (isCurrent(database, part, found[0]?.version ?? 0)) return false;
  return await database.write(async (transaction) => {
    // The lock is held to the end of the transaction: a second process finds the work done.
    await transaction.query(`SELECT ${lockOf(database)}`);
    // Migrations name tables without a schema. This setting leads them to the store's schema until they are done.
    await transaction.query(`SET LOCAL search_path = ${database.address.schema}`);
    const [row] = await transaction.query<{ version: number }>(VERSION, [part.name]);
    const version = row?.version ?? 0;
    if (isCurrent(database, part, version)) return false;
    for (const step of part.migrations) {
      if (step.version <= version) continue;
      await transaction.query(step.sql);
      const done = [part.name, step.version];
      await transaction.query('INSERT INTO quipu.migrations (part, version) VALUES ($1, $2)', done);
    }
    return version === 0;
  });
}

/** A complete database is only read, so a read-only database can be opened. */
async function layFoundation(database: Database): Promise<void> {
  const { schema } = database.address;
  const [there] = await database.query<{ schema: boolean; tables: boolean }>(
    `SELECT to_regnamespace('${schema}') IS NOT NULL AS schema, to_regclass('${schema}.transactions') IS NOT NULL AS tables`,
  );
  if (there?.tables === true) return;
  const create = there?.schema === true ? '' : `CREATE SCHEMA IF NOT EXISTS ${schema};`;
  await database.query(`SELECT ${lockOf(database)}; ${create} ${FOUNDATION}`);
}

/** The schema's name needs no quotes: see `parseAddress`. */
function lockOf({ address }: Database): string {
  return `pg_advisory_xact_lock(hashtext('quipu ${address.schema}'))`;
}

function isCurrent(database: Database, { name, migrations }: SchemaPart, found: number): boolean {
  const newest = migrations.at(-1)?.version ?? 0;
  if (found <= newest) return found === newest;
  throw unsupported(
    `${name} tables`,
    String(found),
    `${database.name} has version ${found} of the ${name} tables, and this Quipu knows ${newest}; upgrade Quipu`,
  );
}
