import type { Hash, TurnId } from '../../../base/brand.ts';
import { QuipuError } from '../../../base/errors.ts';
import { bytesToHash, hashToBytes } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Sql } from '../../../postgres/sql.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import type { Progress } from '../../progress.ts';
import type { CollectionOptions, SweepPlan, SweepReport } from '../../upkeep.ts';
import { decodeChange } from '../change-codec.ts';
import { CHANGES_AT_ONCE, READ_CHANGES } from '../change-feed.ts';
import { ADD_TOTALS, NOTHING_ADDED, takeClock, totalValues } from '../commit/clock.ts';
import * as statements from './collection-statements.ts';

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
  readonly #noted: CollectionOptions['noted'];
  #lastNote = 0;
  #lastChange: number;

  constructor(database: Database, began: Began, noted: CollectionOptions['noted']) {
    this.#database = database;
    this.#began = began;
    this.#noted = noted;
    this.#lastChange = began.seq;
  }

  async takeTurns(plan: SweepPlan): Promise<void> {
    const { nextTurn, open } = this.#began;
    for (let next = nextTurn; ;) {
      const page = await this.#database.query<{ id: number }>(statements.TURN_EDGES, [
        next,
        STEP_ROWS,
      ]);
      const last = page.at(-1);
      if (last === undefined) return;
      next = last.id;
      const isDead = (id: number): boolean =>
        !open.has(id) && !plan.isLiveTurn(BigInt(id) as TurnId);
      const dead = page.map(({ id }) => id).filter(isDead);
      if (dead.length === 0) continue;
      await this.#step(async (transaction) => {
        const ids = dead.filter(isDead);
        const [gone] = await transaction.query<{ turns: number; bytes: number }>(
          statements.DROP_TURNS,
          [ids],
        );
        const totals = { turns: -(gone?.turns ?? 0), logicalBytes: -(gone?.bytes ?? 0) };
        transaction.send(ADD_TOTALS, totalValues({ ...NOTHING_ADDED, ...totals }));
      });
    }
  }

  async takeBlobs(plan: SweepPlan, progress?: Progress): Promise<SweepReport> {
    const { seq, beforeMs } = this.#began;
    let removedBlobs = 0;
    let freedBytes = 0;
    for (let after: Uint8Array = Buffer.alloc(0); ;) {
      const page = await this.#database.query<{ hash: Uint8Array; old: boolean }>(
        statements.BLOBS,
        [after, STEP_ROWS, seq, beforeMs],
      );
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.hash;
      const old = page.filter((blob) => blob.old).map(({ hash }) => bytesToHash(hash));
      const dead = old.filter((hash) => !plan.isLive(hash));
      if (dead.length > 0) {
        const gone = await this.#dropBlobs(dead, plan);
        removedBlobs += gone.blobs;
        freedBytes += gone.stored + gone.blobs * statements.BLOB_ROW_BYTES;
      }
      progress?.(removedBlobs, removedBlobs, 'blobs');
    }
    await this.#database.query(statements.DROP_UPLOADS);
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
        statements.DROP_BLOBS,
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
        transaction.query<Note>(statements.READ_NOTES, [id, this.#lastNote]),
      ]);
      if (clock.collection !== id) {
        throw overtaken('another collection has taken the place of this one');
      }
      for (const { nth, hash, turn } of notes) {
        if (hash !== null) this.#noted.blob(bytesToHash(hash));
        if (turn !== null) this.#noted.turn(BigInt(turn) as TurnId);
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
        this.#noted.change?.(decodeChange(change));
      }
      if (rows.length < CHANGES_AT_ONCE) return;
    }
  }
}

function overtaken(message: string): QuipuError {
  return new QuipuError('LOCKED', message, { what: 'upkeep', owner: 'a collection' });
}
