import { randomUUID } from 'node:crypto';
import type { TurnId } from '../../../base/brand.ts';
import { bytesToHash } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import { pagesOf } from '../../../postgres/sql.ts';
import type { Collection, CollectionOptions } from '../../upkeep.ts';
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
  const { id, seq, beforeMs, nextTurn, nextPatch, open } = began;
  const steps = new Sweep(database, began, reliance);
  return {
    firstNewTurn: BigInt(nextTurn) as TurnId,
    openTurns: [...open].map((turn) => BigInt(turn) as TurnId),

    async *turns() {
      type Row = { id: number; parent: number; payload: Uint8Array };
      const paging = { begin: nextTurn, at: (row: Row) => row.id, rows: PAGE_ROWS };
      for await (const page of pagesOf(database, TURN_EDGES, paging)) {
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
      type Row = { hash: Uint8Array; size: number; stored_size: number; old: boolean };
      const paging = { begin: Buffer.alloc(0), at: (row: Row) => row.hash, rows: PAGE_ROWS };
      const more = [seq, beforeMs];
      for await (const page of pagesOf(database, BLOBS, { ...paging, more })) {
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
