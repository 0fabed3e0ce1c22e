import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Database } from '../../base/sqlite.ts';
import type { IndexChange } from '../contract/search-index.ts';
import { WriteDesk } from './write-desk.ts';

const folder = mkdtempSync(join(tmpdir(), 'quipu-write-desk-'));
afterEach(() => rmSync(folder, { recursive: true }));

it('cuts off the file what is free when it closes', () => {
  const path = join(folder, 'search.db');
  const said = { thread: '1', depth: 1, at: 0, type: 'note', kind: 'context', tools: [] };
  const changes = Array.from({ length: 2000 }, (_, at): IndexChange => {
    return { put: { ...said, ref: `ref-${at}`, texts: [`word ${at}`] } };
  });
  const desk = new WriteDesk(path);
  const page = { source: 'context', marks: [], progress: { done: 0, total: 0 }, isLast: true };
  desk.apply({ ...page, changes });
  desk.apply({ ...page, changes: [{ removeThread: '1' }] });
  const before = read(path, 'freelist_count');
  desk.close();
  expect(before).toBeGreaterThan(20);
  expect(read(path, 'freelist_count')).toBe(0);
});

function read(path: string, pragma: string): number {
  const db = new Database(path);
  try {
    return Number(db.pragma(pragma));
  } finally {
    db.close();
  }
}
