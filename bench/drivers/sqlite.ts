import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { DriverOptions, ForkPoint, History } from './driver.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS threads (id INTEGER PRIMARY KEY, head INTEGER NOT NULL, depth INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, thread INTEGER NOT NULL, depth INTEGER NOT NULL,
    created_at INTEGER NOT NULL, payload BLOB NOT NULL
  );`;

/** From the turn bound first, back through its parents. */
const WALK = `WITH RECURSIVE walk (id, parent, depth, n) AS (
    SELECT id, parent, depth, 1 FROM turns WHERE id = ?
    UNION ALL
    SELECT turns.id, turns.parent, turns.depth, n + 1 FROM turns JOIN walk ON turns.id = walk.parent`;

interface Head {
  readonly head: number;
  readonly depth: number;
}

/** The tables one would write for threads with forks, in better-sqlite3: WAL, synchronous=FULL. */
export class Sqlite implements History {
  readonly #db: Database.Database;
  readonly #insert: Database.Statement<unknown[]>;
  readonly #head: Database.Statement<[number], Head>;
  readonly #last: Database.Statement<[number, number], { payload: Buffer }>;
  readonly #range: Database.Statement<[number, number, number], { payload: Buffer }>;
  readonly #at: Database.Statement<[number, number], { id: number }>;
  readonly #heads = new Map<number, Head>();

  constructor(folder: string, { sync = true }: DriverOptions = {}) {
    mkdirSync(folder, { recursive: true });
    const db = new Database(join(folder, 'threads.db'));
    db.pragma('journal_mode = WAL');
    db.pragma(`synchronous = ${sync ? 'FULL' : 'OFF'}`);
    db.exec(SCHEMA);
    this.#db = db;
    this.#insert = db.prepare(
      'INSERT INTO turns (parent, thread, depth, created_at, payload) VALUES (?, ?, ?, ?, ?)',
    );
    this.#head = db.prepare('SELECT head, depth FROM threads WHERE id = ?');
    this.#last = db.prepare(`${WALK} WHERE n < ?)
      SELECT turns.payload FROM walk JOIN turns ON turns.id = walk.id ORDER BY walk.depth`);
    this.#range = db.prepare(`${WALK} WHERE walk.depth > ?)
      SELECT turns.payload FROM walk JOIN turns ON turns.id = walk.id WHERE walk.depth < ? ORDER BY walk.depth`);
    this.#at = db.prepare(
      `${WALK} WHERE walk.depth > ?) SELECT id FROM walk ORDER BY depth LIMIT 1`,
    );
  }

  async create(): Promise<number> {
    return this.#createAt({ head: 0, depth: -1 });
  }

  /** One insert per transaction. Who owns the connection knows the heads, so nothing else is written. */
  async append(thread: number, payload: Uint8Array): Promise<void> {
    this.#push(thread, payload);
  }

  async fill(thread: number, payloads: Iterable<Uint8Array>): Promise<void> {
    this.#db.transaction(() => {
      for (const payload of payloads) this.#push(thread, payload);
      const { head, depth } = this.#mustGetHead(thread);
      this.#db
        .prepare('UPDATE threads SET head = ?, depth = ? WHERE id = ?')
        .run(head, depth, thread);
    })();
  }

  async last(thread: number, n: number): Promise<number> {
    return countBytes(this.#last.all(this.#mustGetHead(thread).head, n));
  }

  async values(thread: number, n: number): Promise<unknown[]> {
    const rows = this.#last.all(this.#mustGetHead(thread).head, n);
    return rows.map(({ payload }) => JSON.parse(payload.toString()) as unknown);
  }

  async range(thread: number, from: number, to: number): Promise<number> {
    return countBytes(this.#range.all(this.#mustGetHead(thread).head, from, to));
  }

  async turnAt(thread: number, depth: number): Promise<ForkPoint> {
    const found = this.#at.get(this.#mustGetHead(thread).head, depth);
    if (found === undefined) throw new RangeError(`thread ${thread} has no depth ${depth}`);
    return { thread, depth, turn: BigInt(found.id) };
  }

  async fork({ turn, depth }: ForkPoint): Promise<number> {
    return this.#createAt({ head: Number(turn), depth });
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #createAt(head: Head): number {
    const insert = this.#db.prepare('INSERT INTO threads (head, depth) VALUES (?, ?)');
    const thread = Number(insert.run(head.head, head.depth).lastInsertRowid);
    this.#heads.set(thread, head);
    return thread;
  }

  #push(thread: number, payload: Uint8Array): void {
    const before = this.#mustGetHead(thread);
    const depth = before.depth + 1;
    const done = this.#insert.run(before.head, thread, depth, Date.now(), payload);
    this.#heads.set(thread, { head: Number(done.lastInsertRowid), depth });
  }

  #mustGetHead(thread: number): Head {
    const head = this.#heads.get(thread) ?? this.#head.get(thread);
    if (head !== undefined) return head;
    throw new RangeError(`there is no thread ${thread}`);
  }
}

function countBytes(rows: readonly { payload: Buffer }[]): number {
  let bytes = 0;
  for (const { payload } of rows) bytes += payload.length;
  return bytes;
}
