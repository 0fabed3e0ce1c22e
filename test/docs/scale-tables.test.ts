import { describe, expect, it } from 'vitest';
import { STORE_SCHEMA } from '../../src/engine/postgres/schema.ts';
import { QUEUE_TABLES } from '../../src/queue/postgres/schema.ts';
import { readProject } from '../support/project.ts';

const text = readProject('docs/guide/scale.md');
const sql = [STORE_SCHEMA, QUEUE_TABLES]
  .flatMap(({ migrations }) => migrations.map((migration) => migration.sql))
  .join('\n');

/** The columns of the primary key of every table. */
const keys = new Map(
  [...sql.matchAll(/CREATE TABLE (\w+) \(([^]*?)\n\)/g)].map(([, name = '', body = '']) => {
    const listed = /PRIMARY KEY \(([^)]*)\)/.exec(body)?.[1]?.split(', ');
    const alone = /^\s*(\w+) .*PRIMARY KEY/m.exec(body)?.[1] ?? '';
    return [name, listed ?? [alone]];
  }),
);
const distributed = [...text.matchAll(/create_distributed_table\('(\w+)', '(\w+)'/g)];
const staying = /^-- (.*): stay as they are/m.exec(text)?.[1]?.split(', ') ?? [];

describe('docs/guide/scale.md', () => {
  it('says of every table where it goes', () => {
    const told = [...distributed.map(([, table = '']) => table), ...staying];
    expect(told.toSorted()).toEqual([...keys.keys()].toSorted());
  });

  it('distributes tables by a column of their primary key, as a cluster demands', () => {
    const wrong = distributed.filter(
      ([, table = '', column = '']) => !keys.get(table)?.includes(column),
    );
    expect(wrong).toEqual([]);
  });
});
