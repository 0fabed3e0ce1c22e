import type { Hash } from '../../../base/brand.ts';
import { corrupt, isQuipuError } from '../../../base/errors.ts';
import { bytesToHash } from '../../../base/hash.ts';
import { decodeUtf8 } from '../../../base/text.ts';
import type { Database } from '../../../postgres/database.ts';
import { pagesOf, type Sql, type Statement } from '../../../postgres/sql.ts';
import { readContextMeta } from '../../context-meta.ts';
import type { CheckCounts, CheckOptions, CheckReport, Problem } from '../../upkeep.ts';
import { BlobReader } from '../blobs/blob-reader.ts';
import { takeClockAlone } from '../feed/clock.ts';

// Statements that check the tables. Each one finds the rows that break a rule and returns their `id`. They scan
// whole tables: this is no hot path.

export interface TableCheck {
  readonly table: string;
  readonly what: string;
  readonly sql: string;
}

const NO_BLOB = (hash: string): string =>
  `NOT EXISTS (SELECT FROM quipu.blobs b WHERE b.hash = ${hash}) AND NOT EXISTS (SELECT FROM quipu.erased_blobs e WHERE e.hash = ${hash})`;

const TABLE_CHECKS: readonly TableCheck[] = [
  {
    table: 'turns',
    what: 'its parent is missing or stands at another depth',
    sql: `SELECT t.id::text AS id FROM quipu.turns t LEFT JOIN quipu.turns p ON p.tree = t.tree AND p.id = t.parent
      WHERE CASE WHEN t.depth = 0 THEN t.parent <> 0 OR t.tree <> t.id
        ELSE p.id IS NULL OR p.depth <> t.depth - 1 END`,
  },
  {
    table: 'turns',
    what: 'it jumps to a turn that is missing or stands at another depth',
    sql: `SELECT t.id::text AS id FROM quipu.turns t
      LEFT JOIN quipu.turns j ON j.tree = t.tree AND j.id = t.jump
      LEFT JOIN quipu.turns s ON s.tree = t.tree AND s.id = t.side_jump
      WHERE t.depth > 0 AND (j.depth IS DISTINCT FROM t.jump_depth
        OR t.depth > 1 AND s.depth IS DISTINCT FROM t.side_depth)`,
  },
  {
    table: 'turns',
    what: 'its payload is missing',
    sql: `SELECT t.id::text AS id FROM quipu.turns t WHERE t.payload IS NOT NULL AND ${NO_BLOB('t.payload')}`,
  },
  {
    table: 'turns',
    what: 'it has no payload and is not open',
    sql: `SELECT t.id::text AS id FROM quipu.turns t LEFT JOIN quipu.open_turns o ON o.turn = t.id
      WHERE (t.payload IS NULL) <> (o.turn IS NOT NULL)`,
  },
  {
    table: 'turn_trees',
    what: 'the turn and the way to it do not agree',
    sql: `SELECT coalesce(t.id, x.id)::text AS id FROM quipu.turns t FULL JOIN quipu.turn_trees x ON x.tree = t.tree AND x.id = t.id
      WHERE t.id IS NULL OR x.id IS NULL`,
  },
  {
    table: 'open_deltas',
    what: 'the text of an open turn is not as long as it should be',
    sql: `SELECT o.turn::text AS id FROM quipu.open_turns o JOIN quipu.turn_trees x ON x.id = o.turn
      JOIN quipu.turns t ON t.tree = x.tree AND t.id = o.turn
      WHERE t.size <> (SELECT coalesce(sum(length(d.bytes)), 0) FROM quipu.open_deltas d WHERE d.turn = o.turn)`,
  },
  {
    table: 'contexts',
    what: 'its head is missing or stands at another depth',
    sql: `SELECT c.id::text AS id FROM quipu.contexts c LEFT JOIN quipu.turns h ON h.tree = c.head_tree AND h.id = c.head
      WHERE NOT c.removed AND c.head <> 0 AND h.depth IS DISTINCT FROM c.head_depth`,
  },
  {
    table: 'patches',
    what: 'its turn or its payload is missing',
    // A file-system root that another replaced keeps no blob.
    sql: `SELECT p.seq::text AS id FROM quipu.patches p WHERE NOT EXISTS (SELECT FROM quipu.turn_trees x WHERE x.id = p.turn)
      OR ${NO_BLOB('p.payload')} AND NOT (p.fs_root
        AND EXISTS (SELECT FROM quipu.patches n WHERE n.turn = p.turn AND n.fs_root AND n.seq > p.seq))`,
  },
  {
    table: 'blob_parts',
    what: 'the parts of the blob do not add up',
    sql: `SELECT encode(b.hash, 'hex') AS id FROM quipu.blobs b WHERE b.upload IS NOT NULL
      AND b.size <> (SELECT coalesce(sum(p.size), 0) FROM quipu.blob_parts p WHERE p.upload = b.upload)`,
  },
  {
    table: 'log_lines',
    what: 'the log is not as long as it should be',
    sql: `SELECT coalesce(l.name, n.name) AS id FROM quipu.logs l FULL JOIN (
        SELECT name, count(*) AS lines, max(nth) + 1 AS next, sum(octet_length(line) + 1) AS bytes
        FROM quipu.log_lines GROUP BY name) n ON n.name = l.name
      WHERE l.lines IS DISTINCT FROM n.lines OR l.lines IS DISTINCT FROM n.next OR l.bytes IS DISTINCT FROM n.bytes`,
  },
];

const COUNTS = `SELECT
  (SELECT count(*) FROM quipu.turns WHERE payload IS NOT NULL) AS turns,
  (SELECT coalesce(sum(size), 0)::bigint FROM quipu.turns WHERE payload IS NOT NULL) AS logical_bytes,
  (SELECT count(*) FROM quipu.contexts WHERE NOT removed) AS contexts,
  (SELECT count(*) FROM quipu.patches) AS patches,
  (SELECT count(*) FROM quipu.blobs) AS blobs,
  (SELECT coalesce(sum(size), 0)::bigint FROM quipu.blobs) AS blob_bytes,
  (SELECT coalesce(sum(stored_size), 0)::bigint FROM quipu.blobs) AS stored_bytes,
  (SELECT count(*) FROM quipu.docs WHERE content IS NOT NULL) AS docs,
  (SELECT count(*) FROM quipu.logs) AS logs`;

const TOTALS =
  'SELECT turns, logical_bytes, contexts, blobs, blob_bytes, stored_bytes, docs, logs FROM quipu.clock';

// Checks the whole store at one moment. The database checks how rows refer to each other. Every byte of every blob
// is read and compared with its hash.

const PROBLEMS_MAX = 1000;
const PAGE_BLOBS = 256;
const PAGE_NAMES = 4096;
/** A statement may take an hour, because tables can be large. */
const LONG_MS = 3_600_000;

type Counts = Omit<CheckCounts, 'bytes'> &
  Readonly<Record<'logical_bytes' | 'blob_bytes' | 'stored_bytes', number>>;

export async function checkTables(
  database: Database,
  { repair, progress }: CheckOptions,
): Promise<CheckReport> {
  const found = await database.read(async (sql) => {
    await sql.query(`SET LOCAL statement_timeout = ${LONG_MS}`);
    const problems: Problem[] = [];
    for (const [nth, check] of TABLE_CHECKS.entries()) {
      const rows = await sql.query<{ id: string }>(toLong(`check-${nth}`, check.sql));
      for (const { id } of rows) problems.push(toProblem(check.table, check.what, id));
    }
    const [counts] = await sql.query<Counts>(toLong('check-counts', COUNTS));
    const [totals] = await sql.query<Omit<Counts, 'patches'>>(TOTALS);
    if (counts === undefined || totals === undefined)
      throw corrupt('clock', 'the table clock has no row; restore it from a backup');
    const isRight = Object.entries(totals).every(
      ([name, total]) => counts[name as 'turns'] === total,
    );
    problems.push(...(await checkNames(sql)));
    problems.push(...(await checkBlobs(sql, counts.blobs, progress)));
    return { problems, counts, isRight };
  });
  const { problems, counts } = found;
  if (!found.isRight) {
    if (repair) await repairTotals(database);
    else
      problems.push({ ...toProblem('clock', 'the totals are wrong', 'totals'), severity: 'stale' });
  }
  const { turns, contexts, patches, blobs, docs, logs, blob_bytes: bytes } = counts;
  return {
    checked: { turns, contexts, patches, blobs, docs, logs, bytes },
    problems: problems.slice(0, PROBLEMS_MAX),
    more: Math.max(0, problems.length - PROBLEMS_MAX),
    quarantined: [],
  };
}

const NAMES = `SELECT coalesce(c.id, n.context) AS id, c.meta, n.name
  FROM (SELECT id, meta FROM quipu.contexts WHERE NOT removed) c
    FULL JOIN quipu.context_names n ON n.context = c.id
  WHERE coalesce(c.id, n.context) > $1 AND (n.name IS NOT NULL OR c.meta LIKE '%"name":%')
  ORDER BY 1 LIMIT $2`;

/** Names are compared here: a JSON text of PostgreSQL cannot hold every character. */
async function checkNames(sql: Sql): Promise<Problem[]> {
  const problems: Problem[] = [];
  type Row = { id: number; meta: string | null; name: Uint8Array | null };
  const paging = { begin: 0, at: ({ id }: Row) => id, rows: PAGE_NAMES };
  for await (const page of pagesOf(sql, NAMES, paging)) {
    for (const { id, meta, name } of page) {
      const said = readContextMeta(meta ?? '{}');
      if (said === undefined) {
        problems.push(toProblem('contexts', 'the metadata cannot be read', String(id)));
        continue;
      }
      const own = said.name;
      if (own === (name === null ? undefined : decodeUtf8(name))) continue;
      const what = 'the table of names does not have the name of the context';
      problems.push(toProblem('context_names', what, String(id)));
    }
  }
  return problems;
}

const HASHES = 'SELECT hash FROM quipu.blobs WHERE hash > $1 ORDER BY hash LIMIT $2';

async function checkBlobs(
  sql: Sql,
  total: number,
  progress: CheckOptions['progress'],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const reader = new BlobReader(sql, 0);
  let done = 0;
  const paging = {
    begin: Buffer.alloc(0),
    at: ({ hash }: { hash: Uint8Array }) => hash,
    rows: PAGE_BLOBS,
  };
  for await (const page of pagesOf(sql, HASHES, paging)) {
    const hashes = page.map(({ hash }) => bytesToHash(hash));
    const damaged = await Promise.all(hashes.map((hash) => isDamaged(reader, hash)));
    for (const [at, hash] of hashes.entries()) {
      if (damaged[at] === true) problems.push(toProblem('blobs', 'its bytes are damaged', hash));
    }
    done += page.length;
    progress?.(done, total, 'blobs');
  }
  return problems;
}

/** Reads the blob piece by piece, whatever its size. */
async function isDamaged(reader: BlobReader, hash: Hash): Promise<boolean> {
  try {
    for await (const piece of reader.read(hash, 0, Infinity)) void piece;
    return false;
  } catch (error) {
    if (isQuipuError(error, 'CORRUPT')) return true;
    throw error;
  }
}

/** Runs with the clock locked: nothing is added meanwhile. */
async function repairTotals(database: Database): Promise<void> {
  await database.write(async (transaction) => {
    await takeClockAlone(database, transaction, 'a repair');
    await transaction.query(`SET LOCAL statement_timeout = ${LONG_MS}`);
    const [counts] = await transaction.query<Counts>(toLong('check-counts', COUNTS));
    const columns = Object.entries(counts ?? {}).filter(([name]) => name !== 'patches');
    const sets = columns.map(([name], at) => `${name} = $${at + 1}`).join(', ');
    await transaction.query(
      `UPDATE quipu.clock SET ${sets}`,
      columns.map(([, count]) => count as unknown),
    );
  });
}

function toLong(name: string, text: string): Statement {
  return { name, text, query_timeout: LONG_MS };
}

function toProblem(table: string, what: string, id: string): Problem {
  return { what, file: table, offset: 0, id, severity: 'lost' };
}
