import type { Hash } from '../../../base/brand.ts';
import { isQuipuError } from '../../../base/errors.ts';
import { bytesToHash } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Sql, Statement } from '../../../postgres/sql.ts';
import type { CheckOptions, CheckReport, Problem } from '../../upkeep.ts';
import { BlobReader } from '../blobs/blob-reader.ts';
import { COUNTS, TABLE_CHECKS, TOTALS } from './check-statements.ts';
import { takeClockAlone } from './upkeep-lock.ts';

// Checks the whole store at one moment. The database checks how rows refer to each other. Every byte of every blob
// is read and compared with its hash.

const PROBLEMS_MAX = 1000;
const PAGE_BLOBS = 256;
/** A statement may take an hour, because tables can be large. */
const LONG_MS = 3_600_000;

interface Counts {
  readonly turns: number;
  readonly logical_bytes: number;
  readonly contexts: number;
  readonly patches: number;
  readonly blobs: number;
  readonly blob_bytes: number;
  readonly stored_bytes: number;
  readonly docs: number;
  readonly logs: number;
}

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
    if (counts === undefined || totals === undefined) throw new Error('the store has no clock');
    const isRight = Object.entries(totals).every(
      ([name, total]) => counts[name as 'turns'] === total,
    );
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

async function checkBlobs(
  sql: Sql,
  total: number,
  progress: CheckOptions['progress'],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const reader = new BlobReader(sql, 0);
  let done = 0;
  for (let after: Uint8Array = Buffer.alloc(0); ;) {
    const page = await sql.query<{ hash: Uint8Array }>(
      'SELECT hash FROM quipu.blobs WHERE hash > $1 ORDER BY hash LIMIT $2',
      [after, PAGE_BLOBS],
    );
    const last = page.at(-1);
    if (last === undefined) return problems;
    after = last.hash;
    const hashes = page.map(({ hash }) => bytesToHash(hash));
    const damaged = await Promise.all(hashes.map((hash) => isDamaged(reader, hash)));
    for (const [at, hash] of hashes.entries()) {
      if (damaged[at] === true) problems.push(toProblem('blobs', 'its bytes are damaged', hash));
    }
    done += page.length;
    progress?.(done, total, 'blobs');
  }
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
