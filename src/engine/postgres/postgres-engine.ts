import type { Hash, TurnId } from '../../base/brand.ts';
import { QuipuError, notFound, orNothing } from '../../base/errors.ts';
import { type DatabaseOptions, Database } from '../../postgres/database.ts';
import type { Engine, EngineCapabilities } from '../engine.ts';
import { through } from '../through.ts';
import type { TurnRow } from '../rows.ts';
import type { Upkeep } from '../upkeep.ts';
import { BlobReader } from './blobs/blob-reader.ts';
import { prepareBatch, prepareSource } from './blobs/intake.ts';
import { lastTurnsReader, turnReads, type Turns } from './read/turn-reader.ts';
import { recordReads } from './read/record-reader.ts';
import { migrate, type SchemaPart } from '../../postgres/migrate.ts';
import { ChangeFeed, READ_SEQ } from './feed/change-feed.ts';
import { GroupCommitter } from './commit/commit-group.ts';
import { Presence } from './feed/presence.ts';
import { STORE_SCHEMA } from './schema.ts';
import { postgresUpkeep } from './upkeep/postgres-upkeep.ts';

/** The parts that opening put together. */
export interface EngineParts {
  readonly database: Database;
  readonly committer: GroupCommitter;
  readonly feed: ChangeFeed;
  readonly presence: Presence;
  readonly upkeep: Upkeep;
  readonly cacheBytes: number;
}

export const CAPABILITIES: EngineCapabilities = {
  reopen: true,
  reindex: { missing: 'the indexes are the database’s own; REINDEX rebuilds them' },
  backup: { missing: 'the database is backed up with its own tools, such as pg_dump' },
  collection: true,
  adoption: true,
};

/** The engine over a database. */
export interface PostgresEngine extends Engine {
  /** The database, for data beside the store in the same database. It closes with the engine. */
  readonly database: Database;
  /** Seals an abandoned turn as interrupted, unless another writer has gone on writing to it. */
  interrupt(turn: TurnId): Promise<void>;
  readonly readLast: NonNullable<Engine['readLast']>;
}

/**
 * The engine contract over a PostgreSQL database: one group of batches is one transaction, and any number of
 * servers share it.
 */
function createEngine(parts: EngineParts): PostgresEngine {
  const { database, committer, feed, presence, upkeep } = parts;
  const blobs = new BlobReader(database, parts.cacheBytes);
  const turns = turnReads(database);
  let closing: Promise<void> | undefined;
  const assertOpen = (what: string): void => {
    if (closing === undefined) return;
    throw new QuipuError('CLOSED', `${what} was called after the store was closed`, { what });
  };
  const engine: PostgresEngine = {
    capabilities: CAPABILITIES,
    upkeep,
    database,
    ...through(readsOf(database, turns, blobs), async (name, work) => {
      assertOpen(name);
      return work();
    }),
    async viewBlob(hash, use) {
      assertOpen('getBlob');
      return blobs.view(hash, use);
    },
    async getBlob(hash) {
      const view = await engine.viewBlob(hash);
      return view && new Uint8Array(view);
    },
    hasBlob: async (hash) => (await engine.statBlob(hash)) !== undefined,
    async *readBlob(hash, start = 0, end = Infinity) {
      assertOpen('readBlob');
      for await (const piece of blobs.read(hash, start, end)) {
        assertOpen('readBlob');
        yield piece;
      }
    },
    async commit(batch) {
      assertOpen('commit');
      const prepared = prepareBatch(database, batch);
      const ready = prepared instanceof Promise ? await prepared : prepared;
      return (await committer.submit(ready)).committed;
    },
    interrupt: async (turn) => interrupt(engine, await turns.getTurn(turn)),
    async putBlob(source) {
      assertOpen('putBlob');
      const { batch, hash, sha256 } = await prepareSource(database, source);
      assertOpen('putBlob');
      const { existed } = await committer.submit(batch);
      const stat = await blobs.statBlob(hash);
      if (stat !== undefined) return { ...stat, existed, ...(sha256 !== undefined && { sha256 }) };
      throw notFound('blob', hash, `blob ${hash} was erased while it was put; put it again`);
    },
    subscribe(listener, missed) {
      assertOpen('subscribe');
      return feed.add(listener, missed);
    },
    // Nothing to do: the database keeps itself ready.
    checkpoint: async () => assertOpen('checkpoint'),
    reindex: async () => assertOpen('reindex'),
    async close() {
      closing ??= (async () => {
        await committer.drain();
        await feed.close();
        await presence.leave();
        await database.close();
      })();
      await closing;
    },
  };
  return engine;
}

function readsOf(database: Database, turns: Turns, blobs: BlobReader) {
  return {
    ...turns,
    ...recordReads(database, turns),
    readLast: lastTurnsReader(database, blobs),
    statBlob: (hash: Hash) => blobs.statBlob(hash),
    listBlobs: (...range: Parameters<Engine['listBlobs']>) => blobs.listBlobs(...range),
  } satisfies Partial<Engine>;
}

async function interrupt(engine: Engine, row: TurnRow | undefined): Promise<void> {
  if (row === undefined) return;
  const seal = { turn: row.id, outcome: 'interrupted', expectedBytes: row.size } as const;
  await orNothing(() => engine.commit({ seals: [seal] }), 'HEAD_MOVED', 'INVALID', 'NOT_FOUND');
}

export interface PostgresEngineOptions extends DatabaseOptions {
  /** True to create the tables when there are none. Default true. */
  readonly create?: boolean;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly clock?: () => number;
  /** Memory limit for payloads that were read. Default 64 MiB. */
  readonly cacheBytes?: number;
  /** More tables for a store that is made now: its later users may lack the right to make tables. Default none. */
  readonly moreTables?: readonly SchemaPart[];
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
  const { clock = Date.now, create = true, cacheBytes = CACHE_BYTES } = options;
  const { moreTables = [], ...databaseOptions } = options;
  const database = typeof place === 'string' ? new Database(place, databaseOptions) : place;
  try {
    if (!create) await assertThere(database);
    const isNew = await migrate(database, STORE_SCHEMA);
    if (isNew) for (const part of moreTables) await migrate(database, part);
    const [row] = await database.query<{ seq: number; store: string }>(READ_SEQ);
    if (row === undefined) throw new Error('the store has no clock');
    database.expect(row.store);
    const channel = `quipu_${database.address.schema}`;
    const feed = new ChangeFeed(database, channel, row.seq);
    const presence = new Presence(database, (turn) => engine.interrupt(turn));
    const upkeep = postgresUpkeep({
      database,
      clock,
      server: presence.id,
      adopt: async (adoption) => {
        await committer.submit({ changes: {}, blobs: [], extents: [], relies: [], adoption });
      },
    });
    const owner = presence.id;
    const shared = { database, clock, owner, channel, reliance: upkeep.reliance };
    const committer = new GroupCommitter(shared, (seq) => feed.note(seq));
    const engine = createEngine({ database, committer, feed, presence, upkeep, cacheBytes });
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
  throw notFound(
    'store',
    database.name,
    `there is no store in ${database.name}; create one with "quipu init"`,
  );
}
