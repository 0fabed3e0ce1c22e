import { randomUUID } from 'node:crypto';
import type { Hash, TurnId } from '../../../base/brand.ts';
import { bytesToHash } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import { pagesOf, type Statement } from '../../../postgres/sql.ts';
import type { Progress } from '../../progress.ts';
import type {
  BlobEntry,
  Collection,
  CollectionOptions,
  PatchEdge,
  SweepPlan,
  SweepReport,
  TurnEdge,
} from '../../upkeep.ts';
import type { OwnReliance } from '../commit/commit-group.ts';
import type { Began } from './sweep.ts';
import {
  BEGIN,
  BLOBS,
  BLOB_ROW_BYTES,
  DROP_NOTES,
  DROP_OWN_NOTES,
  END,
  OPEN_TURNS,
  PATCH_EDGES,
  Sweep,
  TURN_EDGES,
} from './sweep.ts';
import { takeClockAlone } from '../feed/clock.ts';

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
  setReliance(reliance: OwnReliance | undefined): void;
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
    return new PostgresCollection(parts, began, options);
  } catch (error) {
    parts.setReliance(undefined);
    throw error;
  }
}

class PostgresCollection implements Collection {
  readonly firstNewTurn: TurnId;
  readonly openTurns: readonly TurnId[];
  readonly #parts: CollectionParts;
  readonly #began: Began;
  readonly #sweep: Sweep;

  constructor(parts: CollectionParts, began: Began, { reliance }: CollectionOptions) {
    this.#parts = parts;
    this.#began = began;
    this.#sweep = new Sweep(parts.database, began, reliance);
    this.firstNewTurn = BigInt(began.nextTurn) as TurnId;
    this.openTurns = [...began.open].map((turn) => BigInt(turn) as TurnId);
  }

  async *turns(): AsyncGenerator<readonly TurnEdge[]> {
    const { nextTurn, open } = this.#began;
    type Row = { id: number; parent: number; payload: Uint8Array };
    for await (const page of this.#pages<Row>(TURN_EDGES, nextTurn, ({ id }) => id)) {
      yield page
        .filter(({ id }) => !open.has(id))
        .map(({ id, parent, payload }) => ({
          id: BigInt(id) as TurnId,
          parent: BigInt(parent) as TurnId,
          payload: bytesToHash(payload),
        }));
    }
  }

  async *patches(): AsyncGenerator<readonly PatchEdge[]> {
    type Row = { turn: number; seq: number; payload: Uint8Array; fs_root: boolean };
    const { nextPatch } = this.#began;
    for await (const page of this.#pages<Row>(PATCH_EDGES, nextPatch, (row) => row.seq)) {
      yield page.map(({ turn, payload, fs_root: fsRoot }) => ({
        turn: BigInt(turn) as TurnId,
        payload: bytesToHash(payload),
        fsRoot,
      }));
    }
  }

  async *blobs(): AsyncGenerator<readonly BlobEntry[]> {
    const { seq, beforeMs } = this.#began;
    type Row = { hash: Uint8Array; size: number; stored_size: number; old: boolean };
    const paging = { begin: Buffer.alloc(0), at: (row: Row) => row.hash, rows: PAGE_ROWS };
    const more = [seq, beforeMs];
    for await (const page of pagesOf(this.#parts.database, BLOBS, { ...paging, more })) {
      yield page.map(({ hash, size, stored_size: stored, old }) => ({
        hash: bytesToHash(hash),
        size,
        storedBytes: stored + BLOB_ROW_BYTES,
        old,
        // The parts of a blob are rows of its own, and go with it.
        chunked: false,
      }));
    }
  }

  async chunksOf(): Promise<readonly Hash[]> {
    return [];
  }

  async sweep(plan: SweepPlan, progress?: Progress): Promise<SweepReport> {
    await this.#sweep.takeTurns(plan);
    return this.#sweep.takeBlobs(plan, progress);
  }

  async end(): Promise<void> {
    this.#parts.setReliance(undefined);
    const { id } = this.#began;
    await this.#parts.database.write(async (transaction) => {
      transaction.send(END, [id]);
      transaction.send(DROP_OWN_NOTES, [id]);
    });
  }

  /** Reads pages from `begin` down. `at` tells the position of a row. */
  #pages<R extends object>(statement: Statement, begin: number, at: (row: R) => number) {
    return pagesOf<R, number>(this.#parts.database, statement, { begin, at, rows: PAGE_ROWS });
  }
}
