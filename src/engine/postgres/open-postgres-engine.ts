import { QuipuError } from '../../base/errors.ts';
import { Database, type DatabaseOptions } from '../../postgres/database.ts';
import { migrate } from '../../postgres/migrate.ts';
import { ChangeFeed, READ_SEQ } from './change-feed.ts';
import { Rivals } from './commit/commit-group.ts';
import { GroupCommitter } from './commit/group-committer.ts';
import { PostgresEngine } from './postgres-engine.ts';
import { Presence } from './presence.ts';
import { STORE_SCHEMA } from './schema.ts';
import { PostgresUpkeep } from './upkeep/postgres-upkeep.ts';

export interface PostgresEngineOptions extends DatabaseOptions {
  /** True to create the tables when there are none. Default true. */
  readonly create?: boolean;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly clock?: () => number;
  /** Memory limit for payloads that were read. Default 64 MiB. */
  readonly cacheBytes?: number;
}

const CACHE_BYTES = 64 * 1024 * 1024;

/**
 * Opens a database as a store, in any number of processes on any number of machines. The caller gives a URL or a
 * `Database` with connections. Either way the database closes with the engine.
 */
export async function openPostgresEngine(
  place: string | Database,
  options: PostgresEngineOptions = {},
): Promise<PostgresEngine> {
  const { clock = Date.now, create = true, cacheBytes = CACHE_BYTES, ...databaseOptions } = options;
  const database = typeof place === 'string' ? new Database(place, databaseOptions) : place;
  try {
    if (!create) await assertThere(database);
    await migrate(database, STORE_SCHEMA);
    const [row] = await database.query<{ seq: number; store: string }>(READ_SEQ);
    if (row === undefined) throw new Error('the store has no clock');
    database.expect(row.store);
    const channel = `quipu_${database.address.schema}`;
    const feed = new ChangeFeed(database, channel, row.seq);
    const presence = new Presence(database, (turn) => engine.interrupt(turn));
    const upkeep = new PostgresUpkeep({
      database,
      clock,
      server: presence.id,
      adopt: async (adoption) => {
        await committer.submit({ rest: {}, blobs: [], extents: [], relies: [], adoption });
      },
    });
    const rivals = new Rivals();
    const world = { database, clock, owner: presence.id, channel, rivals, ears: () => upkeep.ears };
    const committer = new GroupCommitter(world, (seq) => feed.note(seq));
    const engine = new PostgresEngine({ database, committer, feed, presence, upkeep, cacheBytes });
    await presence.enter();
    return engine;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function assertThere(database: Database): Promise<void> {
  const { schema } = database.address;
  const [row] = await database.query<{ there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS there',
    [`${schema}.clock`],
  );
  if (row?.there === true) return;
  throw new QuipuError('NOT_FOUND', `there is no store in ${database.name}; make it first`, {
    what: 'store',
    id: database.name,
  });
}
