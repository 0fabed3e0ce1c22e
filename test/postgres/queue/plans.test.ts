import { expect, it } from 'vitest';
import { compileFilter } from '../../../src/queue/filter/filter.ts';
import { parseFilter } from '../../../src/queue/filter/parse-filter.ts';
import {
  CONSUMER_STATEMENTS,
  LEASE_STATEMENTS,
} from '../../../src/queue/postgres/tables/consumer-table.ts';
import { EVENT_STATEMENTS, READS } from '../../../src/queue/postgres/tables/event-table.ts';
import { postgresDialect } from '../../../src/queue/postgres/tables/schema.ts';
import { openRig } from './rig.ts';

const { sql, params } = compileFilter(
  parseFilter("source = 'x' OR content LIKE 'a%'"),
  postgresDialect,
  4,
);
/** With filters in every place where they stand. */
const filtered: readonly (readonly [string, string, readonly unknown[]])[] = [
  ['matches', READS.matches(` AND ${sql}`, `$${5 + params.length}`), [...params, 1000]],
  ['count', READS.count(` AND ${sql}`), params],
  ['first', READS.first(` AND ${sql}`), params],
];

/** Something of the right type for each parameter of a statement. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  'queue-take-ids': ['q7', 1],
  'queue-newest': ['q7'],
  'queue-acknowledge': ['q7', 'c3', 5, null],
  'queue-look': ['q7', 'c3'],
  'queue-set-bookmark': ['q7', 'c3', null, 1, 2],
  'queue-consumers': ['q7'],
  'queue-due-of-queue': ['q7', '', 500],
  'queue-lease-acquire': ['q7', 'c3', 'me', 1000],
  'queue-lease-renew': ['q7', 'c3', 1, 1000],
  'queue-lease-read': ['q7', 'c3', 1],
  'queue-lease-release': ['q7', 'c3', 1, 0, false, null, null, 0],
  'queue-lease-let-go': ['q7', 'c3', 1],
};

it('finds everything by an index', async () => {
  const { database } = await openRig();
  await database.query(
    `INSERT INTO quipu.queues SELECT 'q' || n, 1000 FROM generate_series(1, 5000) AS n`,
  );
  await database.query(`INSERT INTO quipu.queue_consumers (queue, consumer_id, handler_cmd)
    SELECT 'q' || q, 'c' || c, 'true' FROM generate_series(1, 300) AS q, generate_series(1, 30) AS c`);
  await database.query(`INSERT INTO quipu.queue_events SELECT 'q' || q, n, '', 'x', 'message', NULL, 'text'
    FROM generate_series(1, 30) AS q, generate_series(1, 1000) AS n`);
  await database.query('ANALYZE quipu.queues, quipu.queue_consumers, quipu.queue_events');
  const plan = async (text: string, values: readonly unknown[]): Promise<string> => {
    const rows = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
  const statements = [...EVENT_STATEMENTS, ...CONSUMER_STATEMENTS, ...LEASE_STATEMENTS];
  const asked: (readonly [string, string, readonly unknown[]])[] = [
    ...statements.map(({ name, text }) => [name, text, VALUES[name] ?? []] as const),
    ...filtered.map(([name, text, more]) => [name, text, ['q7', 10, 20, 5, ...more]] as const),
  ];
  for (const [name, text, values] of asked) {
    const found = await plan(text, values);
    expect(found, name).toMatch(/Index/);
    expect(found, name).not.toMatch(/Seq Scan/);
  }
  // One that has no index to use is found out.
  expect(await plan("SELECT * FROM quipu.queue_events WHERE source = 'x'", [])).toMatch(/Seq Scan/);
});
