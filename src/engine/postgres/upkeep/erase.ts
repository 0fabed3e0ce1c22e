import type { Hash } from '../../../base/brand.ts';
import { hashToBytes } from '../../../base/hash.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { padLine } from '../../pad-line.ts';
import type { LineErasure } from '../../upkeep.ts';
import { ADD_TOTALS, NOTHING_ADDED, totalValues } from '../commit/clock.ts';
import { NOTE_ERASED } from '../commit/write-blobs.ts';
import { DROP_BLOBS } from './collection-statements.ts';
import { takeClockAlone } from './upkeep-lock.ts';

// When an erasing transaction is committed, the rows are gone or replaced. The pages of the tables and the
// write-ahead log keep the old bytes until the database overwrites them.

/** Changes contain recently streamed and written data. Listeners are told that they missed some. */
const DROP_CHANGES: Statement = { name: 'drop-changes', text: 'DELETE FROM quipu.changes' };

const READ_LINES: Statement = {
  name: 'read-lines',
  text: 'SELECT nth, line FROM quipu.log_lines WHERE name = $1 AND nth = ANY($2::bigint[])',
};
const REPLACE_LINES: Statement = {
  name: 'replace-lines',
  text: `UPDATE quipu.log_lines l SET line = n.line FROM unnest($2::bigint[], $3::text[]) AS n(nth, line)
    WHERE l.name = $1 AND l.nth = n.nth`,
};

export async function eraseBlob(database: Database, hash: Hash): Promise<void> {
  await database.write(async (transaction) => {
    const clock = await takeClockAlone(database, transaction, 'erasing');
    const [gone] = await transaction.query<{ blobs: number; size: number; stored: number }>(
      DROP_BLOBS,
      [[hashToBytes(hash)], clock.seq],
    );
    const { blobs = 0, size = 0, stored = 0 } = gone ?? {};
    if (blobs === 0) return;
    const totals = { blobs: -blobs, blobBytes: -size, storedBytes: -stored };
    transaction.send(ADD_TOTALS, totalValues({ ...NOTHING_ADDED, ...totals }));
    transaction.send(NOTE_ERASED, [[hashToBytes(hash)]]);
    transaction.send(DROP_CHANGES);
  });
}

export async function eraseLines(
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
