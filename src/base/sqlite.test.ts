import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { betterSqlite, type Connect, builtinSqlite } from './sqlite-bindings.ts';
import { Database, MEMORY, firstColumn, isSqliteError, toText } from './sqlite.ts';
import { freshFolder } from '../testing/fresh-folder.ts';

const folder = freshFolder('quipu-sqlite-', afterAll);

let files = 0;
function newPath(): string {
  return join(folder, `${++files} ?#%.db`);
}

/** The binding that was not chosen is tested, too, where it is there. */
function* bindings(): Generator<[string, Connect]> {
  const builtin = builtinSqlite();
  if (builtin !== undefined) yield ['this Node', builtin];
  try {
    yield ['better-sqlite3', betterSqlite()];
  } catch (error) {
    if (builtin === undefined) throw error;
  }
}

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    if (isSqliteError(error)) return error.code;
    throw error;
  }
  return undefined;
}

const LARGE = 2n ** 60n;

it('uses SQLite of Node from 22.16 on', () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const hasIt = major > 23 || (major === 22 && minor >= 16);
  expect(builtinSqlite() !== undefined).toBe(hasIt);
});

describe.each([...bindings()])('SQLite of %s', (_name, connect) => {
  const open = (path = MEMORY, options = {}): Database =>
    new Database(path, { ...options, connect });

  it('gives values back as they were', () => {
    const db = open();
    db.exec('CREATE TABLE t (n INTEGER, r REAL, s TEXT, b BLOB)');
    const put = db.prepare('INSERT INTO t VALUES (@n, @r, @s, @b)');
    const row = { n: 2 ** 53 - 1, r: 1.5, s: 'ä😀', b: new Uint8Array([0, 255]) };
    expect(put.run(row)).toEqual({ changes: 1, lastInsertRowid: 1 });
    put.run({ n: null, r: null, s: '', b: new Uint8Array() });
    const [first, second] = db.prepare<[], typeof row>('SELECT * FROM t ORDER BY rowid').all();
    expect({ ...first, b: [...first!.b] }).toEqual({ ...row, b: [0, 255] });
    expect({ ...second, b: [...second!.b] }).toEqual({ n: null, r: null, s: '', b: [] });
    expect(db.prepare('SELECT typeof(n) AS type FROM t').get()).toEqual({ type: 'integer' });
    expect(db.prepare('SELECT 1 WHERE 0').get()).toBeUndefined();
    const column = db.prepareColumn('SELECT value, key FROM json_each(?) LIMIT ?');
    expect(column.all('[3, "text", null]', 5)).toEqual([3, 'text', null]);
    expect(column.all('[3, 2, 1]', 2)).toEqual([3, 2]);
    db.close();
  });

  it('rounds integers that are no safe numbers, also in the middle of a loop', () => {
    const db = open();
    db.exec('CREATE TABLE t (n INTEGER)');
    for (const n of [1, LARGE, 3]) db.prepare('INSERT INTO t VALUES (?)').run(n);
    const select = db.prepare<[], { n: number }>('SELECT n FROM t ORDER BY rowid');
    const numbers = [1, Number(LARGE), 3];
    expect([...select.iterate()].map(({ n }) => n)).toEqual(numbers);
    expect(select.all().map(({ n }) => n)).toEqual(numbers);
    expect(db.prepare('SELECT max(n) AS n FROM t').get()).toEqual({ n: Number(LARGE) });
    expect(select.get()).toEqual({ n: 1 });
    db.close();
  });

  it('selects a whole text', () => {
    const db = open();
    db.exec('CREATE TABLE t (s TEXT)');
    const texts = ['', 'a', 'a\0b', '\0', 'ä\0😀\0'];
    for (const text of texts) db.prepare('INSERT INTO t VALUES (?)').run(text);
    const rows = db.prepare<[], { s: string }>(`SELECT ${db.wholeText('s')} FROM t`).all();
    expect(rows.map(({ s }) => toText(s))).toEqual(texts);
    db.close();
  });

  it('knows which statement is busy, and frees it when the loop is left', () => {
    const db = open();
    const select = db.prepare('SELECT value FROM json_each(?)');
    for (const row of select.iterate('[1, 2, 3]')) {
      expect(select.busy).toBe(true);
      expect(firstColumn(row)).toBe(1);
      break;
    }
    expect(select.busy).toBe(false);
    expect(select.all('[4]').map(firstColumn)).toEqual([4]);
    db.close();
  });

  it('keeps a transaction or nothing of it', () => {
    const db = open();
    db.exec('CREATE TABLE t (n INTEGER PRIMARY KEY)');
    const put = db.prepare('INSERT INTO t VALUES (?)');
    expect(db.transaction(() => db.transaction(() => put.run(1).changes), 'immediate')).toBe(1);
    const fail = (): void => {
      put.run(2);
      expect(db.inTransaction).toBe(true);
      put.run(1);
    };
    expect(codeOf(() => db.transaction(fail))).toMatch(/^SQLITE_CONSTRAINT/);
    expect(db.inTransaction).toBe(false);
    expect(db.prepare('SELECT n FROM t').all()).toEqual([{ n: 1 }]);
    db.close();
  });

  it('says why it fails in the words of SQLite', () => {
    const db = open();
    expect(codeOf(() => db.exec('nonsense'))).toBe('SQLITE_ERROR');
    expect(codeOf(() => db.prepare('SELECT * FROM nothing'))).toBe('SQLITE_ERROR');
    db.exec('PRAGMA max_page_count = 2; CREATE TABLE t (b BLOB)');
    expect(codeOf(() => db.exec('INSERT INTO t VALUES (zeroblob(100000))'))).toBe('SQLITE_FULL');
    db.close();
    const missing = newPath();
    for (const access of ['read', 'write'] as const) {
      expect(codeOf(() => open(missing, { access }))).toBe('SQLITE_CANTOPEN');
    }
    expect(existsSync(missing)).toBe(false);
    const noise = newPath();
    writeFileSync(noise, 'no database, but as long as the head of one'.repeat(20));
    const noDb = open(noise);
    expect(codeOf(() => noDb.exec('SELECT * FROM sqlite_schema'))).toBe('SQLITE_NOTADB');
    noDb.close();
  });

  it('keeps others out, who wait as long as they were told to', () => {
    const path = newPath();
    const owner = open(path);
    owner.exec('BEGIN EXCLUSIVE');
    const other = open(path, { busyMs: 60 });
    const before = performance.now();
    expect(codeOf(() => other.exec('BEGIN EXCLUSIVE'))).toMatch(/^SQLITE_BUSY/);
    expect(performance.now() - before).toBeGreaterThan(50);
    owner.close();
    other.exec('BEGIN EXCLUSIVE; CREATE TABLE t (n INTEGER); COMMIT');
    other.close();
    other.close();
    expect(other.isOpen).toBe(false);
    const reader = open(path, { access: 'read' });
    expect(codeOf(() => reader.exec('INSERT INTO t VALUES (1)'))).toMatch(/^SQLITE_READONLY/);
    expect(reader.pragma('foreign_keys')).toBe(1);
    reader.close();
  });

  it('copies a database that is in use', async () => {
    const [path, copy] = [newPath(), newPath()];
    const db = open(path);
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (7)');
    await db.backup(copy);
    db.close();
    const copied = open(copy, { access: 'read' });
    expect(copied.prepare('SELECT n FROM t').get()).toEqual({ n: 7 });
    copied.close();
    expect(readFileSync(copy).subarray(0, 15).toString()).toBe('SQLite format 3');
  });

  it('searches words', () => {
    const db = open();
    db.exec("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter')");
    db.prepare('INSERT INTO words VALUES (?)').run('knots in a cord');
    const find = db.prepare('SELECT count(*) FROM words WHERE words MATCH ?');
    expect(['knot', 'rope'].map((word) => firstColumn(find.get(word)))).toEqual([1, 0]);
    db.close();
  });
});
