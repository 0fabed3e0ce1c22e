import { pagesOf, prepared } from '../../../postgres/sql.ts';
import type { Sql, Statement } from '../../../postgres/sql.ts';
import type { Hash, TurnId } from '../../../base/brand.ts';
import { type QuipuError, locked } from '../../../base/errors.ts';
import { bytesToHash, hashToBytes } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import type { Progress } from '../../progress.ts';
import type { Reliance, SweepPlan, SweepReport } from '../../upkeep.ts';
import { CHANGES_AT_ONCE, READ_CHANGES, decodeChange } from '../feed/change-feed.ts';
import { ADD_TOTALS, NOTHING_ADDED, takeClock, totalValues } from '../feed/clock.ts';

/** The approximate bytes of a row besides the bytes of its blob. */
export const BLOB_ROW_BYTES = 100;

export const OPEN_TURNS: Statement = prepared('open-turns')`
  SELECT turn FROM quipu.open_turns ORDER BY turn`;

export const BEGIN: Statement = prepared('begin-collection')`
  UPDATE quipu.clock SET collection = $1, upkeep = 'a collection', upkeep_owner = $2`;

export const END: Statement = prepared('end-collection')`
  UPDATE quipu.clock SET collection = NULL, upkeep = NULL, upkeep_owner = NULL WHERE collection = $1`;

/** Drops the notes of collections that never ended. */
export const DROP_NOTES: Statement = prepared('drop-notes')`DELETE FROM quipu.collection_notes`;

export const DROP_OWN_NOTES: Statement = prepared('drop-own-notes')`
  DELETE FROM quipu.collection_notes WHERE collection = $1`;

const READ_NOTES = prepared('read-notes')`
  SELECT nth, hash, turn FROM quipu.collection_notes WHERE collection = $1 AND nth > $2 ORDER BY nth`;

/** Sealed turns below an id, newest first. */
export const TURN_EDGES: Statement = prepared('turn-edges')`
  SELECT t.id, t.parent, t.payload FROM quipu.turn_trees x JOIN quipu.turns t ON t.tree = x.tree AND t.id = x.id
  WHERE x.id < $1 AND t.payload IS NOT NULL ORDER BY x.id DESC LIMIT $2`;

/** Newest first. A file-system root that another one replaced is skipped. */
export const PATCH_EDGES: Statement = prepared('patch-edges')`
  SELECT p.turn, p.seq, p.payload, p.fs_root FROM quipu.patches p WHERE p.seq < $1
  AND (NOT p.fs_root OR NOT EXISTS (SELECT FROM quipu.patches n WHERE n.turn = p.turn AND n.fs_root AND n.seq > p.seq))
  ORDER BY p.seq DESC LIMIT $2`;

export const BLOBS: Statement = prepared('collection-blobs')`
  SELECT hash, size, stored_size, put_seq <= $3 AND put_at <= $4 AS old FROM quipu.blobs
  WHERE hash > $1 ORDER BY hash LIMIT $2`;

/** Removes the parts and the blob in one statement, which sees the blob before it is gone. */
export const DROP_BLOBS: Statement = prepared('drop-blobs')`
  WITH gone AS (DELETE FROM quipu.blobs WHERE hash = ANY($1::bytea[]) AND put_seq <= $2
    RETURNING size, stored_size, upload),
  parts AS (DELETE FROM quipu.blob_parts p USING gone g WHERE p.upload = g.upload)
  SELECT count(*) AS blobs, coalesce(sum(size), 0)::bigint AS size,
    coalesce(sum(stored_size), 0)::bigint AS stored FROM gone`;

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
export interface Began {
  readonly id: string;
  readonly seq: number;
  readonly nextTurn: number;
  readonly nextPatch: number;
  /** Blobs put before this are old. */
  readonly beforeMs: number;
  readonly open: ReadonlySet<number>;
}

interface Note {
  readonly nth: number;
  readonly hash: Uint8Array | null;
  readonly turn: number | null;
}

/** Carries a plan out in steps, each a transaction that holds the clock. */
export class Sweep {
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

  async takeTurns(plan: SweepPlan): Promise<void> {
    const { nextTurn, open } = this.#began;
    const paging = { begin: nextTurn, at: ({ id }: { id: number }) => id, rows: STEP_ROWS };
    for await (const page of pagesOf(this.#database, TURN_EDGES, paging)) {
      const isDead = (id: number): boolean =>
        !open.has(id) && !plan.isLiveTurn(BigInt(id) as TurnId);
      const dead = page.map(({ id }) => id).filter(isDead);
      if (dead.length === 0) continue;
      await this.#step(async (transaction) => {
        const ids = dead.filter(isDead);
        const [gone] = await transaction.query<{ turns: number; bytes: number }>(DROP_TURNS, [ids]);
        const totals = { turns: -(gone?.turns ?? 0), logicalBytes: -(gone?.bytes ?? 0) };
        transaction.send(ADD_TOTALS, totalValues({ ...NOTHING_ADDED, ...totals }));
      });
    }
  }

  async takeBlobs(plan: SweepPlan, progress?: Progress): Promise<SweepReport> {
    const { seq, beforeMs } = this.#began;
    let removedBlobs = 0;
    let freedBytes = 0;
    type Row = { hash: Uint8Array; old: boolean };
    const paging = { begin: Buffer.alloc(0), at: ({ hash }: Row) => hash, rows: STEP_ROWS };
    const more = [seq, beforeMs];
    for await (const page of pagesOf(this.#database, BLOBS, { ...paging, more })) {
      const old = page.filter((blob) => blob.old).map(({ hash }) => bytesToHash(hash));
      const dead = old.filter((hash) => !plan.isLive(hash));
      if (dead.length > 0) {
        const gone = await this.#dropBlobs(dead, plan);
        removedBlobs += gone.blobs;
        freedBytes += gone.stored + gone.blobs * BLOB_ROW_BYTES;
      }
      progress?.(removedBlobs, removedBlobs, 'blobs');
    }
    await this.#database.query(DROP_UPLOADS);
    return { removedBlobs, freedBytes, keptDeadBytes: 0, skippedForSpace: 0 };
  }

  async #dropBlobs(
    dead: readonly Hash[],
    plan: SweepPlan,
  ): Promise<{ blobs: number; size: number; stored: number }> {
    return this.#step(async (transaction) => {
      await plan.settle?.();
      const hashes = dead.filter((hash) => !plan.isLive(hash)).map(hashToBytes);
      const [gone] = await transaction.query<{ blobs: number; size: number; stored: number }>(
        DROP_BLOBS,
        [hashes, this.#began.seq],
      );
      const { blobs = 0, size = 0, stored = 0 } = gone ?? {};
      const totals = { blobs: -blobs, blobBytes: -size, storedBytes: -stored };
      transaction.send(ADD_TOTALS, totalValues({ ...NOTHING_ADDED, ...totals }));
      return { blobs, size, stored };
    });
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
