import { expect, it } from 'vitest';
import { STORE_SCHEMA } from '../../src/engine/postgres/schema.ts';
import { QUEUE_TABLES } from '../../src/queue/postgres/tables/schema.ts';
import { readProject } from '../support/project.ts';

const text = readProject('docs/guide/scale.md');
const sql = [STORE_SCHEMA, QUEUE_TABLES]
  .flatMap(({ migrations }) => migrations.map((migration) => migration.sql))
  .join('\n');
const tables = [...sql.matchAll(/CREATE TABLE (\w+)/g)].map(([, name = '']) => name);

it('docs/guide/scale.md says of every table what belongs together in it', () => {
  const [, rows = ''] = /\| tables \| by \|[^\n]*\n([^]*?)\n\n/.exec(text) ?? [];
  const told = rows
    .split('\n')
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)])
    .map(([, name = '']) => name);
  expect(told.toSorted()).toEqual(tables.toSorted());
});

it('docs/guide/scale.md tells nobody to distribute them, which was tried and does not work', () => {
  expect(text).toContain('**Citus does not work.**');
  expect(text).not.toContain('create_distributed_table');
});
