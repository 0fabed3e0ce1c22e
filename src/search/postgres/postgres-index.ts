import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { TextMarks } from '../../engine/texts.ts';
import type { Database } from '../../postgres/database.ts';
import type { Sql } from '../../postgres/sql.ts';
import type { Transaction } from '../../postgres/transaction.ts';
import type {
  Fork,
  Held,
  HoldWish,
  IndexPage,
  KeptIndex,
  PickRequest,
  Picked,
  Picks,
} from '../contract/search-index.ts';
import { countFacets } from '../rank/facets.ts';
import { pickRows } from '../rank/pick-rows.ts';
import { findRows } from './find-rows.ts';
import { takeLease, type Lease } from './lease.ts';
import { fromBytes, toBytes, toName } from './schema.ts';
import { makePage, writePage } from './write-page.ts';

// The index of a store in a database, which all its servers share.
// Invariants
// - Only the holder of the lease adds to the index or takes from it. Emptying it ends every lease.
// - A server that erases has a row in `search_erasures`, and says again and again that it is alive. If it dies, the
//   next holder of the lease begins the index again.
// - Session files are on one machine, so their texts are a source of their own for each machine.

const ERASURE_MS = 60_000;
const ERASURE_RENEW_MS = 15_000;
const SESSIONS = 'session';
/** A page is a transaction of its own. */
const PAGE_CHARS = 2_097_152;

const NOTE = `INSERT INTO quipu.search_erasures (server, expires_at)
  VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')
  ON CONFLICT (server) DO UPDATE SET expires_at = excluded.expires_at`;
const STRIKE = 'DELETE FROM quipu.search_erasures WHERE server = $1';
const SEEN = 'SELECT seen_seq < (SELECT seq FROM quipu.clock) AS behind FROM quipu.search_state';
const SOURCE = '(SELECT id FROM quipu.search_names WHERE name = $1)';
const GET_MARK = `SELECT mark FROM quipu.search_threads WHERE source = ${SOURCE} AND name = $2`;
const LIST_MARKS = `SELECT name FROM quipu.search_threads
  WHERE source = ${SOURCE} AND name > $2 AND mark IS NOT NULL ORDER BY name LIMIT $3`;
const FIND_REF = `SELECT t.name AS thread, d.depth FROM quipu.search_docs d JOIN quipu.search_threads t ON t.id = d.thread
  WHERE substring(d.ref FROM 1 FOR 64) = substring($2::bytea FROM 1 FOR 64) AND d.ref = $2 AND d.source = ${SOURCE} LIMIT 1`;
const THREAD = `(SELECT id FROM quipu.search_threads WHERE source = ${SOURCE} AND name = $2)`;
const FORKS_OF = `SELECT t.name AS thread, f.depth FROM quipu.search_forks f
  JOIN quipu.search_threads t ON t.id = f.thread WHERE f.parent = ${THREAD} ORDER BY f.thread LIMIT 1000`;
const PARENT_OF = `SELECT t.name AS thread, f.depth FROM quipu.search_forks f
  JOIN quipu.search_threads t ON t.id = f.parent WHERE f.thread = ${THREAD}`;
const NAMED = `n.name AS source, t.name AS thread, d.ref, d.depth FROM quipu.search_docs d
  JOIN quipu.search_threads t ON t.id = d.thread JOIN quipu.search_names n ON n.id = d.source`;
const IN_BLOB = `SELECT DISTINCT ${NAMED} WHERE d.blob = $1`;
const WALK = `SELECT d.id, ${NAMED} WHERE d.id > $2 AND d.source = ${SOURCE} ORDER BY d.id LIMIT $3`;
const FORKED = 'EXISTS (SELECT 1 FROM quipu.search_forks f WHERE f.parent = d.thread) AS forked';
const PICKED = `SELECT d.id, ${FORKED}, ${NAMED} WHERE d.id = ANY($1::bigint[])`;
const NAMES = 'SELECT id, name FROM quipu.search_names WHERE id = ANY($1::integer[])';

interface NamedRow {
  readonly id: number;
  readonly source: Buffer;
  readonly thread: Buffer;
  readonly ref: Buffer;
  readonly depth: number;
  readonly forked?: boolean;
}

export class PostgresIndex implements KeptIndex {
  readonly pageChars: number = PAGE_CHARS;
  readonly #database: Database;
  readonly #texts: string;
  readonly #server: string = randomUUID();
  readonly #sessions: string = `${SESSIONS} ${hostname()}`;
  #lease: Lease | undefined;
  #generation: number | undefined;
  #erasing: NodeJS.Timeout | undefined;

  constructor(database: Database, texts: string) {
    this.#database = database;
    this.#texts = texts;
  }

  async hold(wish: HoldWish, work: (held: Held) => Promise<boolean>): Promise<boolean> {
    const lease = await takeLease(this.#database, this.#texts, wish);
    if (lease === undefined) return false;
    let seenSeq = 0;
    try {
      if (lease.isDoubtful) {
        // The lease ends with the index that it was for.
        await this.reset();
        return await this.hold(wish, work);
      }
      const isNew = this.#generation !== lease.generation;
      this.#generation = lease.generation;
      this.#lease = lease;
      const isDone = await work({
        seq: lease.seq,
        isNew,
        get isWanted() {
          return lease.isWanted && !wish.isUrgent();
        },
      });
      if (isDone) seenSeq = lease.seq;
      return isDone;
    } catch (error) {
      // Pages that this server wrote may be lost with the lease.
      this.#generation = undefined;
      throw error;
    } finally {
      if (this.#lease === lease) this.#lease = undefined;
      await lease.release(seenSeq);
    }
  }

  async isBehind(): Promise<boolean> {
    const [row] = await this.#database.query<{ behind: boolean }>(SEEN);
    return row?.behind === true;
  }

  async apply(page: IndexPage): Promise<number> {
    const lease = this.#lease;
    if (lease === undefined) throw new Error('a page of the index was written without a lease');
    const made = await makePage(this.#sourceName(page.source), page, lease.next);
    const written = await this.#database.write((sql) => writePage(sql, lease, made));
    lease.next = written.next;
    lease.isWanted = written.isWanted;
    return written.removed;
  }

  marks(source: string): TextMarks {
    const own = toName(this.#sourceName(source));
    return {
      get: async (thread) => {
        const values = [own, toBytes(thread)];
        const [row] = await this.#database.query<{ mark: string | null }>(GET_MARK, values);
        return row?.mark ?? undefined;
      },
      list: async (limit, after = '') => {
        const values = [own, toBytes(after), limit];
        const rows = await this.#database.query<{ name: Buffer }>(LIST_MARKS, values);
        return rows.map(({ name }) => fromBytes(name));
      },
      find: async (ref) => (await this.#forks(FIND_REF, source, ref))[0],
      forksOf: (thread) => this.forksOf(source, thread),
    };
  }

  async pick(request: PickRequest): Promise<Picks> {
    const sources = ['context', 'chat', 'workflow', 'queue', this.#sessions].map(toName);
    const { documents, upTo, rows, ranked, basis } = await findRows(
      this.#database,
      request,
      sources,
    );
    const { picked, more, matches, groups } = pickRows(rows, request, basis);
    const named = await this.#namesOf(picked.map(({ row }) => row.id));
    const found: Picked[] = [];
    const threads = new Map<number, string>();
    for (const { row, key, score } of picked) {
      const one = named.get(row.id);
      // The document left the index in this moment.
      if (one === undefined) continue;
      threads.set(row.thread, `${one.source} ${one.thread}`);
      found.push({ ...one, key, score });
    }
    return {
      upTo,
      picked: found,
      more,
      matches,
      ranked,
      documents,
      ...(groups && {
        groups: new Map([...groups].map(([id, count]) => [threads.get(id) ?? '', count])),
      }),
      ...(request.facets && { facets: await this.#facets(rows) }),
    };
  }

  forksOf(source: string, thread: string): Promise<readonly Fork[]> {
    return this.#forks(FORKS_OF, source, thread);
  }

  async parentOf(source: string, thread: string): Promise<Fork | undefined> {
    return (await this.#forks(PARENT_OF, source, thread))[0];
  }

  async inBlob(blob: number): Promise<readonly { source: string; thread: string; ref: string }[]> {
    const rows = await this.#database.query<NamedRow>(IN_BLOB, [blob]);
    return rows.map((row) => this.#toPicked(row));
  }

  async walk(source: string, after: number, limit: number): Promise<readonly Picked[]> {
    const values = [toName(this.#sourceName(source)), after, limit];
    const rows = await this.#database.query<NamedRow>(WALK, values);
    return rows.map((row) => this.#toPicked(row));
  }

  /** Nothing to do: rows are gone with the commit, and old bytes are the database's own, as for every erasure. */
  async purge(): Promise<void> {
    await Promise.resolve();
  }

  async noteErasure(): Promise<void> {
    await this.#database.query(NOTE, [this.#server, ERASURE_MS]);
    const renew = (): void => {
      // A note that ends makes the others begin the index again, which does no harm.
      void this.#database.query(NOTE, [this.#server, ERASURE_MS]).catch(() => undefined);
    };
    this.#erasing ??= setInterval(renew, ERASURE_RENEW_MS).unref();
  }

  async strikeErasure(): Promise<void> {
    clearInterval(this.#erasing);
    this.#erasing = undefined;
    await this.#database.query(STRIKE, [this.#server]);
  }

  async reset(): Promise<void> {
    try {
      await emptyIndex(this.#database, true);
    } catch (error) {
      // If this was for an erasure, its note ends by itself, and the next holder tries again.
      clearInterval(this.#erasing);
      throw error;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#erasing);
    await Promise.resolve();
  }

  #sourceName(source: string): string {
    return source === SESSIONS ? this.#sessions : source;
  }

  async #forks(sql: string, source: string, name: string): Promise<readonly Fork[]> {
    const values = [toName(this.#sourceName(source)), toBytes(name)];
    const rows = await this.#database.query<{ thread: Buffer; depth: number }>(sql, values);
    return rows.map(({ thread, depth }) => ({ thread: fromBytes(thread), depth }));
  }

  async #namesOf(ids: readonly number[]): Promise<ReadonlyMap<number, Picked>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#database.query<NamedRow>(PICKED, [ids]);
    return new Map(rows.map((row) => [row.id, this.#toPicked(row)]));
  }

  #toPicked({ id, source, thread, ref, depth, forked }: NamedRow): Picked {
    const name = fromBytes(source);
    return {
      id,
      key: 0,
      score: 0,
      source: name === this.#sessions ? SESSIONS : name,
      thread: fromBytes(thread),
      ref: fromBytes(ref),
      depth,
      ...(forked !== undefined && { isForked: forked }),
    };
  }

  async #facets(rows: Parameters<typeof countFacets>[0]): Promise<ReturnType<typeof countFacets>> {
    const ids = [...new Set(rows.flatMap(({ kind, type, model }) => [kind, type, model]))];
    const named = await this.#database.query<{ id: number; name: Buffer }>(NAMES, [ids]);
    const names = new Map(named.map(({ id, name }) => [id, fromBytes(name)]));
    return countFacets(rows, (id) => names.get(id) ?? '');
  }
}

const EMPTY =
  'TRUNCATE quipu.search_docs, quipu.search_forks, quipu.search_threads, quipu.search_names';
const FORGIVE = 'DELETE FROM quipu.search_erasures WHERE expires_at < clock_timestamp()';
const BEGIN = `UPDATE quipu.search_state SET begun = $1, generation = generation + 1, documents = 0, seen_seq = 0,
  done = 0, total = 0, what = '', holder = NULL, expires_at = NULL`;

/** Empties the index. Its files are new ones then: nothing of the old texts is in them. */
export async function emptyIndex(database: Database, begun: boolean): Promise<void> {
  await database.write((sql) => empty(sql, begun));
}

async function empty(sql: Transaction, begun: boolean): Promise<void> {
  // The row first, as a page does: who writes one is let finish.
  await sql.query(BEGIN, [begun]);
  sql.send(EMPTY);
  sql.send(FORGIVE);
}

const TAKE_OVER = 'UPDATE quipu.search_state SET texts = $1';
const READ_TEXTS = 'SELECT begun, texts FROM quipu.search_state';

/** A way of reading texts that is not built in has the index to itself, from the moment that a server comes with it. */
export async function chooseTexts(database: Database, texts: string): Promise<void> {
  const isChosen = async (sql: Sql, lock: string): Promise<boolean> => {
    const [state] = await sql.query<{ begun: boolean; texts: string }>(READ_TEXTS + lock);
    return state?.begun === true && (state.texts === texts || texts === '');
  };
  // A database that takes no writes can be searched.
  if (await isChosen(database, '')) return;
  await database.write(async (sql) => {
    if (await isChosen(sql, ' FOR UPDATE')) return;
    await empty(sql, true);
    sql.send(TAKE_OVER, [texts]);
  });
}
