import { Database } from '../../../base/sqlite.ts';
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sampleKey, samplePlace, shelfBatch } from '../../../../test/support/shelf-samples.ts';
import { type Shelf, type ShelfBatch, ShelfDamaged } from './shelf.ts';
import { openSqliteShelf } from './sqlite-shelf.ts';
import { freshFolder } from '../../../testing/fresh-folder.ts';

const folder = freshFolder('quipu-sqlite-shelf-', afterAll);

let files = 0;
function newPath(): string {
  return join(folder, `${++files}.db`);
}

function sampleBatch(from: number, to: number): ShelfBatch {
  const numbers = Array.from({ length: to - from }, (_, i) => from + i);
  return shelfBatch({
    blobs: numbers.map((n) => samplePlace(n)),
    keys: numbers.map((n) => ({ key: sampleKey(n), turn: n })),
    contexts: numbers.map((n) => ({
      id: n + 1,
      head: n,
      base: 0,
      createdAt: 1,
      updatedAt: n,
      removed: false,
    })),
    contextMeta: numbers.map((n) => ({
      id: n + 1,
      name: `n${n}`,
      kind: 'chat',
      labels: [`l${n % 3}`],
      fields: [],
    })),
    docs: numbers.map((n) => ({
      name: `d/${n}`,
      offset: n,
      length: n,
      version: 1,
      removed: false,
    })),
    logs: numbers.map((n) => ({ name: `l/${n}`, removed: false })),
    patches: numbers.map((n) => ({ turn: n, seq: n })),
    positions: { turns: to },
  });
}

/** Every question about the samples, as text. */
function answers(shelf: Shelf, count: number): string {
  const numbers = Array.from({ length: count }, (_, n) => n);
  return JSON.stringify([
    numbers.map((n) => shelf.findBlob(samplePlace(n).hash)),
    numbers.map((n) => shelf.findKey(sampleKey(n))),
    numbers.map((n) => [shelf.getContext(n + 1), shelf.findDoc(`d/${n}`), shelf.patchesOf([n])]),
    shelf.listContexts({ limit: count, label: 'l1' }),
    [shelf.listDocs('d/', count), shelf.listLogs('l/', count)],
    [...shelf.walkBlobs()],
  ]);
}

function remove(path: string): void {
  for (const end of ['', '-wal', '-shm', '-clean']) rmSync(path + end, { force: true });
}

describe('SQLite shelf', () => {
  it('finds everything again through merges and reopenings', () => {
    const path = newPath();
    let shelf = openSqliteShelf(path);
    let added = 0;
    for (let round = 0; added < 20_000; round++) {
      const to = Math.min(20_000, added + [1, 700, 40, 3000][round % 4]!);
      const numbers = Array.from({ length: to - added }, (_, i) => added + i);
      shelf.apply(
        shelfBatch({
          blobs: numbers.map((n) => samplePlace(n, 1 + (n % 5))),
          keys: numbers.map((n) => ({ key: sampleKey(n), turn: n })),
          // Merges may be left to be done, and are done in steps or with a later batch.
          mergeLater: round % 3 !== 0,
        }),
      );
      added = to;
      for (let steps = round % 4; steps > 0; steps -= 1) shelf.merge(200);
      if (round % 7 === 3) shelf.forgetBlobs([samplePlace(round, 1 + (round % 5))]);
      if (round % 9 === 5) {
        shelf.close();
        shelf = openSqliteShelf(path);
      }
    }
    const gone = new Set(Array.from({ length: 1000 }, (_, i) => i).filter((n) => n % 7 === 3));
    const lost: number[] = [];
    const lostKeys: number[] = [];
    for (let n = 0; n < 20_000; n++) {
      if (shelf.findBlob(samplePlace(n).hash)?.offset !== n * 100) lost.push(n);
      if (shelf.findKey(sampleKey(n)) !== n) lostKeys.push(n);
    }
    expect(lostKeys).toEqual([]);
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.filter((n) => !gone.has(n))).toEqual([]);
    expect([...shelf.walkBlobs()].length).toBe(20_000 - lost.length);

    shelf.apply(shelfBatch({ gonePacks: [2] }));
    expect([...shelf.walkBlobs()].some((place) => place.pack === 2)).toBe(false);
    shelf.close();
  });

  it('keeps what was applied when the process dies without closing', () => {
    const path = newPath();
    const copy = newPath();
    const shelf = openSqliteShelf(path);
    shelf.apply(sampleBatch(0, 200));
    copyFileSync(path, copy);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    const reopened = openSqliteShelf(copy);
    expect(reopened.positions()).toEqual({ turns: 200 });
    expect(answers(reopened, 210)).toBe(answers(shelf, 210));
    reopened.close();
    shelf.close();
  });

  it('takes nothing of a batch that fails, and goes on', () => {
    const shelf = openSqliteShelf(newPath());
    shelf.apply(sampleBatch(0, 50));
    const before = answers(shelf, 100);
    const bad = {
      ...sampleBatch(50, 100),
      docs: [{ name: 'd', offset: null, length: null, version: null } as never],
    };
    expect(() => shelf.apply(bad)).toThrow('NOT NULL');
    expect(answers(shelf, 100)).toBe(before);
    expect(shelf.positions()).toEqual({ turns: 50 });
    shelf.apply(sampleBatch(50, 100));
    expect(shelf.findBlob(samplePlace(99).hash)).toEqual(samplePlace(99));
    shelf.close();
  });

  it('starts empty in place of a file that is no database or has another schema', () => {
    const noise = newPath();
    writeFileSync(noise, 'not a database, but long enough to look like one '.repeat(100));
    const other = newPath();
    const db = new Database(other);
    db.exec('CREATE TABLE manifest (id INTEGER PRIMARY KEY)');
    db.pragma('user_version = 99');
    db.close();
    for (const path of [noise, other]) {
      const shelf = openSqliteShelf(path);
      expect(shelf.positions()).toEqual({});
      shelf.apply(sampleBatch(0, 5));
      shelf.close();
      expect(existsSync(`${path}-clean`)).toBe(true);
    }
  });

  it('detects every flipped byte in a closed file', () => {
    const path = newPath();
    const shelf = openSqliteShelf(path);
    shelf.apply(sampleBatch(0, 200));
    shelf.close();
    const bytes = readFileSync(path);
    const mark = readFileSync(`${path}-clean`);
    const copy = newPath();
    for (let at = 0; at < bytes.length; at += 1999) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 1 << (at % 8);
      writeFileSync(copy, damaged);
      writeFileSync(`${copy}-clean`, mark);
      const reopened = openSqliteShelf(copy);
      expect(reopened.positions(), `flip at ${at}`).toEqual({});
      reopened.close();
      remove(copy);
    }
  });

  it('never answers wrong after a flip in a file that was not closed', () => {
    const path = newPath();
    const shelf = openSqliteShelf(path);
    shelf.apply(sampleBatch(0, 200));
    const right = answers(shelf, 210);
    shelf.close();
    const bytes = readFileSync(path);
    const copy = newPath();
    const outcomes = { right: 0, empty: 0, damaged: 0 };
    for (let at = 0; at < bytes.length; at += 1499) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 1 << (at % 8);
      writeFileSync(copy, damaged);
      outcomes[outcomeOf(copy, right, at)]++;
      remove(copy);
    }
    expect(outcomes.empty).toBeGreaterThan(0);
    expect(outcomes.right).toBeGreaterThan(0);
  });

  it('says so when a row is damaged or gone under an open shelf', () => {
    for (const sql of ['UPDATE chunks SET data = zeroblob(8)', 'DELETE FROM chunks']) {
      const path = newPath();
      const shelf = openSqliteShelf(path);
      shelf.apply(sampleBatch(0, 200));
      shelf.close();
      const db = new Database(path);
      db.exec(sql);
      // More than 16 MiB, so that opening does not read it all.
      db.exec('CREATE TABLE filler AS SELECT zeroblob(17000000) AS data');
      db.close();
      rmSync(`${path}-clean`);
      const reopened = openSqliteShelf(path);
      expect(reopened.positions()).toEqual({ turns: 200 });
      expect(() => reopened.findBlob(samplePlace(1).hash), sql).toThrow(ShelfDamaged);
      expect(reopened.findDoc('d/1')?.offset).toBe(1);
      reopened.close();
    }
  });
});

function outcomeOf(path: string, right: string, at: number): 'right' | 'empty' | 'damaged' {
  const shelf = openSqliteShelf(path);
  try {
    if (Object.keys(shelf.positions()).length === 0) return 'empty';
    expect(answers(shelf, 210), `flip at ${at}`).toBe(right);
    return 'right';
  } catch (error) {
    if (error instanceof ShelfDamaged) return 'damaged';
    throw error;
  } finally {
    shelf.close();
  }
}
