import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { QuipuError, isQuipuError, notFound } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import type { DatabaseOptions } from '../../postgres/database.ts';
import type { Batch, Change, Committed } from '../batch.ts';
import type {
  BlobSource,
  BlobStored,
  BlobUse,
  ContextList,
  ContextQuery,
  Engine,
  EngineCapabilities,
  EngineStats,
  Found,
  LastTurns,
  OpenTurnRow,
  Tips,
  Wanted,
} from '../engine.ts';
import type {
  BlobStat,
  ContextRow,
  DocRow,
  FsRootRow,
  HeadRow,
  LogRow,
  PatchRow,
  SalvagedLog,
  TurnRow,
} from '../rows.ts';
import type { Upkeep } from '../upkeep.ts';
import { BlobReader } from './blobs/blob-reader.ts';
import { prepareBatch, prepareSource } from './blobs/intake.ts';
import { LastTurnsReader, TurnReader } from './read/turn-reader.ts';
import { listContexts } from './read/list-contexts.ts';
import { RecordReader } from './read/record-reader.ts';
import { Database } from '../../postgres/database.ts';
import { migrate } from '../../postgres/migrate.ts';
import { ChangeFeed, READ_SEQ } from './feed/change-feed.ts';
import { GroupCommitter, Rivals } from './commit/commit-group.ts';
import { Presence } from './feed/presence.ts';
import { STORE_SCHEMA } from './schema.ts';
import { PostgresUpkeep } from './upkeep/postgres-upkeep.ts';

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

/**
 * The engine contract over a PostgreSQL database: one group of batches is one transaction, and any number of
 * servers share it.
 */
class PostgresEngine implements Engine {
  readonly capabilities: EngineCapabilities = CAPABILITIES;
  readonly upkeep: Upkeep;
  readonly #parts: EngineParts;
  readonly #blobs: BlobReader;
  readonly #turns: TurnReader;
  readonly #lastTurns: LastTurnsReader;
  readonly #records: RecordReader;
  #closing: Promise<void> | undefined;

  constructor(parts: EngineParts) {
    const { database } = parts;
    this.#parts = parts;
    this.upkeep = parts.upkeep;
    this.#blobs = new BlobReader(database, parts.cacheBytes);
    this.#turns = new TurnReader(database);
    this.#lastTurns = new LastTurnsReader(database, this.#blobs);
    this.#records = new RecordReader(database);
  }

  /** The database, for data beside the store in the same database. It closes with the engine. */
  get database(): Database {
    return this.#parts.database;
  }

  async commit(batch: Batch): Promise<Committed> {
    this.#assertOpen('commit');
    const { database, committer } = this.#parts;
    const prepared = prepareBatch(database, batch);
    const ready = prepared instanceof Promise ? await prepared : prepared;
    return (await committer.submit(ready)).committed;
  }

  /** Seals an abandoned turn as interrupted, unless another writer has gone on writing to it. */
  async interrupt(turn: TurnId): Promise<void> {
    const open = await this.#turns.getOpen(turn);
    if (open === undefined) return;
    const { bytes } = open;
    const payload = hashBytes(bytes);
    const about = { payload, size: bytes.length, expectedBytes: bytes.length };
    const seal = { turn, outcome: 'interrupted', ...about } as const;
    try {
      await this.commit({ blobs: [{ hash: payload, bytes }], seals: [seal] });
    } catch (error) {
      const isElsewhere = ['HEAD_MOVED', 'INVALID', 'NOT_FOUND'].some(
        (code) => isQuipuError(error) && error.code === code,
      );
      if (!isElsewhere) throw error;
    }
  }

  async hasBlob(hash: Hash): Promise<boolean> {
    return (await this.statBlob(hash)) !== undefined;
  }

  async statBlob(hash: Hash): Promise<BlobStat | undefined> {
    this.#assertOpen('statBlob');
    return this.#blobs.stat(hash);
  }

  async getBlob(hash: Hash): Promise<Uint8Array | undefined> {
    const view = await this.viewBlob(hash);
    return view && new Uint8Array(view);
  }

  async viewBlob(hash: Hash, use?: BlobUse): Promise<Uint8Array | undefined> {
    this.#assertOpen('getBlob');
    return this.#blobs.view(hash, use);
  }

  async *readBlob(
    hash: Hash,
    start: number = 0,
    end: number = Infinity,
  ): AsyncGenerator<Uint8Array> {
    this.#assertOpen('readBlob');
    for await (const piece of this.#blobs.read(hash, start, end)) {
      this.#assertOpen('readBlob');
      yield piece;
    }
  }

  async putBlob(source: BlobSource): Promise<BlobStored> {
    this.#assertOpen('putBlob');
    const { database, committer } = this.#parts;
    const { batch, hash, sha256 } = await prepareSource(database, source);
    this.#assertOpen('putBlob');
    const { existed } = await committer.submit(batch);
    const stat = await this.#blobs.stat(hash);
    if (stat !== undefined) return { ...stat, existed, ...(sha256 !== undefined && { sha256 }) };
    throw notFound('blob', hash, `blob ${hash} was erased while it was put; put it again`);
  }

  async findBySha256(sha256: string): Promise<Hash | undefined> {
    this.#assertOpen('findBySha256');
    return this.#records.findBySha256(sha256);
  }

  async listBlobs(prefix: string, limit: number, after?: Hash): Promise<readonly Hash[]> {
    this.#assertOpen('listBlobs');
    return this.#blobs.list(prefix, limit, after);
  }

  async getTurn(id: TurnId): Promise<TurnRow | undefined> {
    this.#assertOpen('getTurn');
    return this.#turns.get(id);
  }

  async walkBack(from: TurnId, limit: number): Promise<readonly TurnRow[]> {
    this.#assertOpen('walkBack');
    return this.#turns.walkBack(from, limit);
  }

  async readLast(...asked: Parameters<LastTurnsReader['read']>): Promise<LastTurns | undefined> {
    this.#assertOpen('readLast');
    return this.#lastTurns.read(...asked);
  }

  async ancestorAt(turn: TurnId, depth: number): Promise<TurnRow | undefined> {
    this.#assertOpen('ancestorAt');
    return this.#turns.ancestorAt(turn, depth);
  }

  async commonAncestor(a: TurnId, b: TurnId): Promise<TurnRow | undefined> {
    this.#assertOpen('commonAncestor');
    return this.#turns.commonAncestor(a, b);
  }

  async getOpenTurn(id: TurnId): Promise<OpenTurnRow | undefined> {
    this.#assertOpen('getOpenTurn');
    return this.#turns.getOpen(id);
  }

  async getHead(id: ContextId): Promise<HeadRow | undefined> {
    this.#assertOpen('getHead');
    return this.#records.getHead(id);
  }

  async getContext(id: ContextId): Promise<ContextRow | undefined> {
    this.#assertOpen('getContext');
    return this.#records.getContext(id);
  }

  async findContext(name: string): Promise<ContextRow | undefined> {
    this.#assertOpen('findContext');
    return this.#records.findContext(name);
  }

  async listContexts(query: ContextQuery): Promise<ContextList> {
    this.#assertOpen('listContexts');
    return listContexts(this.#parts.database, query);
  }

  async getPatches(turns: readonly TurnId[]): Promise<readonly PatchRow[]> {
    this.#assertOpen('getPatches');
    return this.#records.getPatches(turns);
  }

  async getFsRoots(turns: readonly TurnId[]): Promise<readonly FsRootRow[]> {
    this.#assertOpen('getFsRoots');
    return this.#records.getFsRoots(turns);
  }

  async tips(): Promise<Tips> {
    this.#assertOpen('tips');
    return this.#records.tips();
  }

  async getMany({ contexts = [], turns = [], patches = [] }: Wanted): Promise<Found> {
    this.#assertOpen('getMany');
    const [contextRows, turnRows, patchRows] = await Promise.all([
      this.#records.getContexts(contexts),
      this.#turns.getMany(turns),
      this.#records.getPatchesAt(patches),
    ]);
    return { contexts: contextRows, turns: turnRows, patches: patchRows };
  }

  async getLog(name: string): Promise<LogRow | undefined> {
    this.#assertOpen('getLog');
    return this.#records.getLog(name);
  }

  async readLog(name: string, from: number, limit: number): Promise<readonly string[]> {
    this.#assertOpen('readLog');
    return this.#records.readLog(name, from, limit);
  }

  async salvageLog(name: string, from: number, limit: number): Promise<SalvagedLog | undefined> {
    this.#assertOpen('salvageLog');
    return this.#records.salvageLog(name, from, limit);
  }

  async listLogs(prefix: string, limit: number, after?: string): Promise<readonly string[]> {
    this.#assertOpen('listLogs');
    return this.#records.listNames('logs', { prefix, limit, after });
  }

  async getDoc(name: string): Promise<DocRow | undefined> {
    this.#assertOpen('getDoc');
    return this.#records.getDoc(name);
  }

  async listDocs(prefix: string, limit: number, after?: string): Promise<readonly string[]> {
    this.#assertOpen('listDocs');
    return this.#records.listNames('docs', { prefix, limit, after });
  }

  subscribe(listener: (change: Change) => void, missed?: () => void): () => void {
    this.#assertOpen('subscribe');
    return this.#parts.feed.add(listener, missed);
  }

  async stats(): Promise<EngineStats> {
    this.#assertOpen('stats');
    return this.#records.stats();
  }

  /** Nothing to do: the database keeps itself ready. */
  async checkpoint(): Promise<void> {
    this.#assertOpen('checkpoint');
  }

  async reindex(): Promise<void> {
    this.#assertOpen('reindex');
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    const { database, committer, feed, presence } = this.#parts;
    await committer.drain();
    await feed.close();
    await presence.leave();
    await database.close();
  }

  #assertOpen(name: string): void {
    if (this.#closing === undefined) return;
    throw new QuipuError('CLOSED', `${name} was called after the store was closed`, { what: name });
  }
}

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
        await committer.submit({ changes: {}, blobs: [], extents: [], relies: [], adoption });
      },
    });
    const rivals = new Rivals();
    const shared = {
      database,
      clock,
      owner: presence.id,
      channel,
      rivals,
      reliance: () => upkeep.reliance,
    };
    const committer = new GroupCommitter(shared, (seq) => feed.note(seq));
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
  throw notFound(
    'store',
    database.name,
    `there is no store in ${database.name}; create one with "quipu init"`,
  );
}
