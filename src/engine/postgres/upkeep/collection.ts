import { randomUUID } from 'node:crypto';
import type { TurnId } from '../../../base/brand.ts';
import { bytesToHash } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import { pagesOf, prepared, type Sql } from '../../../postgres/sql.ts';
import type {
  Collection,
  CollectionOptions,
  Reliance,
  SweepPlan,
  SweepReport,
} from '../../upkeep.ts';
import type { OwnReliance } from '../commit/commit-group.ts';
import { takeClockAlone, takeClock, addTotals } from '../feed/clock.ts';
import { type QuipuError, locked } from '../../../base/errors.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import { CHANGES_AT_ONCE, READ_CHANGES, decodeChange } from '../feed/change-feed.ts';
import { dropBlobs } from '../blobs/write-blobs.ts';
import type { Progress } from '../../progress.ts';

// A collection runs beside any number of writers on any number of servers. Its number is in the clock, which every
// commit locks. From then on each commit notes what it relies on: here in memory or, on another server, in a table
// within its own transaction. A step of the sweep locks the clock as well and reads the notes up to there. So the
// step decides with all notes known and no commit beside it.

const PAGE_ROWS = 1024;

export interface CollectionParts {
  readonly database: Database;
  readonly clock: () => number;
  readonly server: string;
  /** Tells the commits of this process which collection to notify. */
  readonly setReliance: (reliance: OwnReliance | undefined) => void;
}

export async function startCollection(
  parts: CollectionParts,
  options: CollectionOptions,
): Promise<Collection> {
  const id = randomUUID();
  const { reliance } = options;
  try {
    const began = await parts.database.write(async (transaction): Promise<Began> => {
      const clock = await takeClockAlone(parts.database, transaction, 'a collection');
      parts.setReliance({
        collection: id,
        blob: (hash) => reliance.blob(hash),
        turn: (turn) => reliance.turn(turn),
      });
      const open = await transaction.query<{ turn: number }>(OPEN_TURNS);
      transaction.send(DROP_NOTES);
      transaction.send(BEGIN, [id, parts.server]);
      return {
        id,
        seq: clock.seq,
        nextTurn: clock.next_turn,
        nextPatch: clock.next_patch,
        beforeMs: Math.floor(Math.max(0, Math.max(parts.clock(), clock.time_ms) - options.graceMs)),
        open: new Set(open.map(({ turn }) => turn)),
      };
    });
    return toCollection(parts, began, options);
  } catch (error) {
    parts.setReliance(undefined);
    throw error;
  }
}

function toCollection(
  { database, setReliance }: CollectionParts,
  began: Began,
  { reliance }: CollectionOptions,
): Collection {
  const { id, nextTurn, nextPatch, open } = began;
  const steps = new Sweep(database, began, reliance);
  return {
    firstNewTurn: BigInt(nextTurn) as TurnId,
    openTurns: [...open].map((turn) => BigInt(turn) as TurnId),

    async *turns() {
      for await (const page of steps.turnPages(PAGE_ROWS)) {
        yield page
          .filter((row) => !open.has(row.id))
          .map((row) => ({
            id: BigInt(row.id) as TurnId,
            parent: BigInt(row.parent) as TurnId,
            payload: bytesToHash(row.payload),
          }));
      }
    },

    async *patches() {
      type Row = { turn: number; seq: number; payload: Uint8Array; fs_root: boolean };
      const paging = { begin: nextPatch, at: (row: Row) => row.seq, rows: PAGE_ROWS };
      for await (const page of pagesOf(database, PATCH_EDGES, paging)) {
        yield page.map(({ turn, payload, fs_root: fsRoot }) => ({
          turn: BigInt(turn) as TurnId,
          payload: bytesToHash(payload),
          fsRoot,
        }));
      }
    },

    async *blobs() {
      for await (const page of steps.blobPages(PAGE_ROWS)) {
        yield page.map(({ hash, size, stored_size: stored, old }) => ({
          hash: bytesToHash(hash),
          size,
          storedBytes: stored + BLOB_ROW_BYTES,
          old,
          // The parts of a blob are rows of its own, and go with it.
          chunked: false,
        }));
      }
    },

    chunksOf: async () => [],

    async sweep(plan, progress) {
      await steps.takeTurns(plan);
      return steps.takeBlobs(plan, progress);
    },

    async end() {
      setReliance(undefined);
      await database.write(async (transaction) => {
        transaction.send(END, [id]);
        transaction.send(DROP_OWN_NOTES, [id]);
      });
    },
  };
}

/** The approximate bytes of a row besides the bytes of its blob. */
const BLOB_ROW_BYTES = 100;

const OPEN_TURNS = prepared('open-turns')`
  SELECT turn FROM quipu.open_turns ORDER BY turn`;

const BEGIN = prepared('begin-collection')`
  UPDATE quipu.clock SET collection = $1, upkeep = 'a collection', upkeep_owner = $2`;

const END = prepared('end-collection')`
  UPDATE quipu.clock SET collection = NULL, upkeep = NULL, upkeep_owner = NULL WHERE collection = $1`;

/** Drops the notes of collections that never ended. */
const DROP_NOTES = prepared('drop-notes')`DELETE FROM quipu.collection_notes`;

const DROP_OWN_NOTES = prepared('drop-own-notes')`
  DELETE FROM quipu.collection_notes WHERE collection = $1`;

const READ_NOTES = prepared('read-notes')`
  SELECT nth, hash, turn FROM quipu.collection_notes WHERE collection = $1 AND nth > $2 ORDER BY nth`;

/** Sealed turns below an id, newest first. */
const TURN_EDGES = prepared('turn-edges')`
  SELECT t.id, t.parent, t.payload FROM quipu.turn_trees x JOIN quipu.turns t ON t.tree = x.tree AND t.id = x.id
  WHERE x.id < $1 AND t.payload IS NOT NULL ORDER BY x.id DESC LIMIT $2`;

/** Newest first. A file-system root that another one replaced is skipped. */
const PATCH_EDGES = prepared('patch-edges')`
  SELECT p.turn, p.seq, p.payload, p.fs_root FROM quipu.patches p WHERE p.seq < $1
  AND (NOT p.fs_root OR NOT EXISTS (SELECT FROM quipu.patches n WHERE n.turn = p.turn AND n.fs_root AND n.seq > p.seq))
  ORDER BY p.seq DESC LIMIT $2`;

const BLOBS = prepared('collection-blobs')`
  SELECT hash, size, stored_size, put_seq <= $3 AND put_at <= $4 AS old FROM quipu.blobs
  WHERE hash > $1 ORDER BY hash LIMIT $2`;

/** Removes turns with everything that depends on them. */
const DROP_TURNS = prepared('drop-turns')`
  WITH trees AS (DELETE FROM quipu.turn_trees WHERE id = ANY($1::bigint[]) RETURNING tree, id),
  gone AS (DELETE FROM quipu.turns t USING trees x WHERE t.tree = x.tree AND t.id = x.id RETURNING t.key, t.size),
  keys AS (DELETE FROM quipu.turn_keys k USING gone g WHERE k.key = g.key),
  overlays AS (DELETE FROM quipu.patches WHERE turn = ANY($1::bigint[]))
  SELECT count(*) AS turns, coalesce(sum(size), 0)::bigint AS bytes FROM gone`;

/** Removes the parts of uploads that were never finished. */
const DROP_UPLOADS = prepared('drop-uploads')`
  WITH old AS (DELETE FROM quipu.uploads WHERE touched_at < now() - interval '1 day' RETURNING id)
  DELETE FROM quipu.blob_parts p USING old o WHERE p.upload = o.id`;

/** The number of rows in one step. Commits wait for one step at a time. */
const STEP_ROWS = 512;
const FORGOTTEN = 'commits since this collection began are not known any more; collect again';

/** The bounds of a collection: everything in them existed when it began. */
interface Began {
  readonly id: string;
  readonly seq: number;
  readonly nextTurn: number;
  readonly nextPatch: number;
  /** Blobs put before this are old. */
  readonly beforeMs: number;
  readonly open: ReadonlySet<number>;
}

interface TurnColumns {
  readonly id: number;
  readonly parent: number;
  readonly payload: Uint8Array;
}

interface BlobColumns {
  readonly hash: Uint8Array;
  readonly size: number;
  readonly stored_size: number;
  readonly old: boolean;
}

interface Note {
  readonly nth: number;
  readonly hash: Uint8Array | null;
  readonly turn: number | null;
}

/** Carries a plan out in steps, each a transaction that holds the clock. */
class Sweep {
  readonly #database: Database;
  readonly #began: Began;
  readonly #reliance: Reliance;
  #lastNote = 0;
  #lastChange: number;

  constructor(database: Database, began: Began, reliance: Reliance) {
    this.#database = database;
    this.#began = began;
    this.#reliance = reliance;
    this.#lastChange = began.seq;
  }

  turnPages(rows: number): AsyncIterable<readonly TurnColumns[]> {
    const paging = { begin: this.#began.nextTurn, at: ({ id }: TurnColumns) => id, rows };
    return pagesOf(this.#database, TURN_EDGES, paging);
  }

  blobPages(rows: number): AsyncIterable<readonly BlobColumns[]> {
    const { seq, beforeMs } = this.#began;
    const paging = {
      begin: Buffer.alloc(0),
      at: ({ hash }: BlobColumns): Uint8Array => hash,
      rows,
    };
    return pagesOf(this.#database, BLOBS, { ...paging, more: [seq, beforeMs] });
  }

  async takeTurns(plan: SweepPlan): Promise<void> {
    const { open } = this.#began;
    for await (const page of this.turnPages(STEP_ROWS)) {
      const isDead = (id: number): boolean =>
        !open.has(id) && !plan.isLiveTurn(BigInt(id) as TurnId);
      const dead = page.map(({ id }) => id).filter(isDead);
      if (dead.length === 0) continue;
      await this.#step(async (transaction) => {
        const ids = dead.filter(isDead);
        const [gone] = await transaction.query<{ turns: number; bytes: number }>(DROP_TURNS, [ids]);
        addTotals(transaction, { turns: -(gone?.turns ?? 0), logicalBytes: -(gone?.bytes ?? 0) });
      });
    }
  }

  async takeBlobs(plan: SweepPlan, progress?: Progress): Promise<SweepReport> {
    let removedBlobs = 0;
    let freedBytes = 0;
    for await (const page of this.blobPages(STEP_ROWS)) {
      const old = page.filter((blob) => blob.old).map(({ hash }) => bytesToHash(hash));
      const dead = old.filter((hash) => !plan.isLive(hash));
      if (dead.length > 0) {
        const gone = await this.#step(async (transaction) => {
          await plan.settle?.();
          const stillDead = dead.filter((hash) => !plan.isLive(hash));
          return dropBlobs(transaction, stillDead, this.#began.seq);
        });
        removedBlobs += gone.blobs;
        freedBytes += gone.stored + gone.blobs * BLOB_ROW_BYTES;
      }
      progress?.(removedBlobs, removedBlobs, 'blobs');
    }
    await this.#database.query(DROP_UPLOADS);
    return { removedBlobs, freedBytes, keptDeadBytes: 0, skippedForSpace: 0 };
  }

  /** Runs a step with the clock locked, after reading all notes of other servers and all commits up to here. */
  async #step<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    // Most changes are read before commits have to wait.
    await this.#hearChanges(this.#database);
    return this.#database.write(async (transaction) => {
      const { id } = this.#began;
      const [clock, notes] = await Promise.all([
        takeClock(this.#database, transaction),
        transaction.query<Note>(READ_NOTES, [id, this.#lastNote]),
      ]);
      if (clock.collection !== id) {
        throw overtaken('another collection has taken the place of this one');
      }
      for (const { nth, hash, turn } of notes) {
        if (hash !== null) this.#reliance.blob(bytesToHash(hash));
        if (turn !== null) this.#reliance.turn(BigInt(turn) as TurnId);
        this.#lastNote = Math.max(this.#lastNote, nth);
      }
      await this.#hearChanges(transaction);
      if (this.#lastChange !== clock.seq) throw overtaken(FORGOTTEN);
      return work(transaction);
    });
  }

  /**
   * Reads the changes directly. Listeners would hear of them too late: this very step may remove what a commit
   * needs.
   */
  async #hearChanges(sql: Sql): Promise<void> {
    for (;;) {
      const rows = await sql.query<{ seq: number; change: string }>(READ_CHANGES, [
        this.#lastChange,
        CHANGES_AT_ONCE,
      ]);
      for (const { seq, change } of rows) {
        if (seq !== this.#lastChange + 1) throw overtaken(FORGOTTEN);
        this.#lastChange = seq;
        this.#reliance.change?.(decodeChange(change));
      }
      if (rows.length < CHANGES_AT_ONCE) return;
    }
  }
}

function overtaken(message: string): QuipuError {
  return locked('upkeep', 'a collection', message);
}
