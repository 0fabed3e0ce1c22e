import type { Hash, TurnId } from '../../../base/brand.ts';
import { unsupported } from '../../../base/errors.ts';
import type { Adoption, PatchEntry, Records, TurnEntry } from '../../adoption.ts';
import type { LineErasure, Upkeep } from '../../upkeep.ts';
import { takeClockAlone } from '../feed/clock.ts';
import type { OwnReliance } from '../commit/commit-group.ts';
import type { CollectionParts } from './collection.ts';
import { hashToBytes, bytesToHash, hexOf } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared, pagesOf, type Statement } from '../../../postgres/sql.ts';
import { padLine } from '../../json-text.ts';
import { NOTE_ERASED, dropBlobs } from '../blobs/write-blobs.ts';
import {
  toPatchRow,
  toTurnRow,
  turnColumns,
  type PatchColumns,
  type TurnColumns,
} from '../read/rows.ts';
import type { DocRow } from '../../rows.ts';

export interface UpkeepParts extends Omit<CollectionParts, 'setReliance'> {
  /** One commit that adopts records. */
  adopt(adoption: Adoption): Promise<void>;
}

/** Upkeep of a database, and what its commits need to know of it. */
export interface PostgresUpkeep extends Upkeep {
  /** The collection that runs in this process. */
  readonly reliance: () => OwnReliance | undefined;
}

/** The larger tasks have files of their own, which are loaded on first use. */
export function postgresUpkeep(parts: UpkeepParts): PostgresUpkeep {
  const { database } = parts;
  let reliance: OwnReliance | undefined;
  const setReliance = (given: OwnReliance | undefined): void => void (reliance = given);
  return {
    reliance: () => reliance,
    records: postgresRecords(database),

    async startCollection(options) {
      const { startCollection } = await import('./collection.ts');
      return startCollection({ ...parts, setReliance }, options);
    },

    async check(options) {
      const { checkTables } = await import('./check-tables.ts');
      return checkTables(database, options);
    },

    eraseBlob: (hash) => eraseBlob(database, hash),
    eraseLines: (log, erasures) => eraseLines(database, log, erasures),

    async adopt(adoption) {
      // A collection that begins right after this hears of the adopted records, as of every commit.
      await database.write((transaction) => takeClockAlone(database, transaction, 'adopting'));
      await parts.adopt(adoption);
    },

    async backup() {
      throw unsupported(
        'backup',
        'postgres',
        `${database.name} is backed up with the tools of PostgreSQL, such as pg_dump`,
      );
    },
  };
}

// When an erasing transaction is committed, the rows are gone or replaced. The pages of the tables and the
// write-ahead log keep the old bytes until the database overwrites them.

/** Changes contain recently streamed and written data. Listeners are told that they missed some. */
const DROP_CHANGES = prepared('drop-changes')`DELETE FROM quipu.changes`;

const READ_LINES = prepared('read-lines')`
  SELECT nth, line FROM quipu.log_lines WHERE name = $1 AND nth = ANY($2::bigint[])`;
const REPLACE_LINES = prepared('replace-lines')`
  UPDATE quipu.log_lines l SET line = n.line FROM unnest($2::bigint[], $3::text[]) AS n(nth, line)
  WHERE l.name = $1 AND l.nth = n.nth`;

async function eraseBlob(database: Database, hash: Hash): Promise<void> {
  await database.write(async (transaction) => {
    const clock = await takeClockAlone(database, transaction, 'erasing');
    const gone = await dropBlobs(transaction, [hash], clock.seq);
    if (gone.blobs === 0) return;
    transaction.send(NOTE_ERASED, [[hashToBytes(hash)]]);
    transaction.send(DROP_CHANGES);
  });
}

async function eraseLines(
  database: Database,
  log: string,
  erasures: readonly LineErasure[],
): Promise<void> {
  if (erasures.length === 0) return;
  await database.write(async (transaction) => {
    await takeClockAlone(database, transaction, 'erasing');
    const wanted = new Map(erasures.map(({ line, text }) => [line, text]));
    const numbers = [...wanted.keys()].filter((line) => Number.isSafeInteger(line));
    const rows = await transaction.query<{ nth: number; line: string }>(READ_LINES, [log, numbers]);
    const lines = new Map(rows.map(({ nth, line }) => [nth, line]));
    const padded = [...wanted].map(([nth, text]) => padLine(log, nth, lines.get(nth), text));
    transaction.send(REPLACE_LINES, [log, numbers, padded]);
    transaction.send(DROP_CHANGES);
  });
}

/** Reads every id of a range that was handed out, with its turn or, where the turn is gone, with its key. */
const TURN_ENTRIES = prepared('turn-entries')`
  SELECT n::bigint AS number, ${turnColumns('t')},
    CASE WHEN t.id IS NULL THEN (SELECT k.key FROM quipu.turn_keys k WHERE k.turn = n) END AS gone_key
  FROM quipu.clock c CROSS JOIN LATERAL generate_series($1::bigint, least($2::bigint, c.next_turn) - 1) n
  LEFT JOIN quipu.turn_trees x ON x.id = n LEFT JOIN quipu.turns t ON t.tree = x.tree AND t.id = x.id ORDER BY n`;

const PATCH_ENTRIES = prepared('patch-entries')`
  SELECT n::bigint AS number, p.turn, p.seq, p.tombstone, p.encoding, p.payload, p.size, p.created_at, p.fs_root,
    EXISTS (SELECT FROM quipu.patches l WHERE l.turn = p.turn AND l.fs_root AND l.seq > p.seq) AS replaced
  FROM quipu.clock c CROSS JOIN LATERAL generate_series($1::bigint, least($2::bigint, c.next_patch) - 1) n
  LEFT JOIN quipu.patches p ON p.seq = n ORDER BY n`;

const SHA256_NAMES = prepared('sha256-names')`
  SELECT sha256, hash FROM quipu.sha256s WHERE sha256 > $1 ORDER BY sha256 LIMIT $2`;

const ERASED = prepared('erased')`
  SELECT e.hash FROM quipu.erased_blobs e WHERE e.hash > $1
  AND NOT EXISTS (SELECT FROM quipu.blobs b WHERE b.hash = e.hash) ORDER BY e.hash LIMIT $2`;

const DOC_ENTRIES = prepared('doc-entries')`
  SELECT d.name, d.version, d.content, d.published FROM unnest($1::text[]) WITH ORDINALITY AS n(name, nth)
  JOIN quipu.docs d ON d.name = n.name COLLATE "C" WHERE d.content IS NOT NULL ORDER BY n.nth`;

const PAGE_ROWS = 1024;

/** The reads of the tables for a copy, page by page. Each page is of one moment. */
function postgresRecords(database: Database): Records {
  const byBytes = <R extends object>(statement: Statement, at: (row: R) => Uint8Array) =>
    pagesOf<R, Uint8Array>(database, statement, { begin: Buffer.alloc(0), at, rows: PAGE_ROWS });
  return {
    async turns(from, limit) {
      const first = Math.max(1, Number(from));
      const rows = await database.query<TurnColumns & { number: number; gone_key: Uint8Array }>(
        TURN_ENTRIES,
        [first, first + limit],
      );
      return rows.map((columns): TurnEntry => {
        const id = BigInt(columns.number) as TurnId;
        const isGone = columns.id === null;
        const bytes = isGone ? columns.gone_key : columns.key;
        const key = bytes === null ? {} : { key: new Uint8Array(bytes) };
        return isGone ? { id, gone: true, ...key } : { id, row: toTurnRow(columns), ...key };
      });
    },

    async patches(from, limit) {
      const first = Math.max(1, from);
      const rows = await database.query<
        PatchColumns & { number: number; fs_root: boolean; replaced: boolean }
      >(PATCH_ENTRIES, [first, first + limit]);
      return rows.map((columns): PatchEntry => {
        const { number: seq, fs_root: isRoot, replaced, created_at: createdAt } = columns;
        if (columns.seq === null) return { seq, gone: true };
        const patch = toPatchRow(columns);
        if (!isRoot) return { seq, patch };
        const { turn, payload: root } = patch;
        return { seq, fsRoot: { turn, root, seq }, createdAt, replaced };
      });
    },

    async *sha256Names() {
      type Row = { sha256: Uint8Array; hash: Uint8Array };
      for await (const page of byBytes<Row>(SHA256_NAMES, ({ sha256 }) => sha256)) {
        yield page.map(({ sha256, hash }) => ({ sha256: hexOf(sha256), hash: bytesToHash(hash) }));
      }
    },

    async *erased() {
      for await (const page of byBytes<{ hash: Uint8Array }>(ERASED, ({ hash }) => hash)) {
        yield page.map(({ hash }) => bytesToHash(hash));
      }
    },

    async docs(names) {
      const rows = await database.query<DocRow & { published: boolean }>(DOC_ENTRIES, [names]);
      return rows.map(({ published, ...row }) => ({ row, published }));
    },
  };
}
