import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { Database, firstColumn } from '../../base/sqlite.ts';
import { freshFolder } from '../../testing/fresh-folder.ts';
import type { IndexChange } from '../contract/search-index.ts';
import { WriteDesk } from './write-desk.ts';

let path = '';
beforeEach(() => {
  path = join(freshFolder(), 'search.db');
});

const page = { source: 'context', marks: [], progress: { done: 0, total: 0 }, isLast: true };

function puts(from: number, to: number): IndexChange[] {
  const said = { thread: '1', depth: 1, at: 0, type: 'note', kind: 'context', tools: [] };
  return Array.from({ length: to - from }, (_, at): IndexChange => {
    return { put: { ...said, ref: `ref-${from + at}`, texts: [`word ${from + at}`] } };
  });
}

it('goes on in another part when one is full, and removes from both', () => {
  const desk = new WriteDesk(path);
  const [full, more] = [65_536, 65_636];
  for (let from = 0; from < full; from += 8192) {
    desk.apply({ ...page, changes: puts(from, from + 8192) });
  }
  desk.apply({ ...page, changes: puts(full, more) });
  const gone = [5, full + 5].map((nth): IndexChange => {
    return { remove: { thread: '1', ref: `ref-${nth}` } };
  });
  expect(desk.apply({ ...page, changes: gone })).toBe(2);
  desk.purge();
  desk.close();
  expect([count('text_1'), count('text_2')]).toEqual([full - 1, more - full - 1]);
});

it('cuts off the file what is free when it closes', () => {
  const desk = new WriteDesk(path);
  desk.apply({ ...page, changes: puts(0, 2000) });
  desk.apply({ ...page, changes: [{ removeThread: '1' }] });
  const before = read((db) => db.pragma('freelist_count'));
  desk.close();
  expect(before).toBeGreaterThan(20);
  expect(read((db) => db.pragma('freelist_count'))).toBe(0);
});

function count(part: string): number {
  const sql = `SELECT count(*) FROM ${part} WHERE ${part} MATCH 'word'`;
  return read((db) => firstColumn(db.prepare(sql).get()));
}

function read(what: (db: Database) => unknown): number {
  const db = new Database(path);
  try {
    return Number(what(db));
  } finally {
    db.close();
  }
}
