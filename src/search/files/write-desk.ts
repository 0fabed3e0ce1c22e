import type { Database, Statement } from '../../base/sqlite.ts';
import { fieldTokens } from '../index/cut-pieces.ts';
import type { Fork, IndexChange, IndexPage, IndexedText } from '../contract/search-index.ts';
import { cutRows } from './cut-rows.ts';
import { INSERT_FRESH, pruneRanks, sealRanks } from './rank-tables.ts';
import { DOCUMENTS, partName } from './schema.ts';
import {
  Statements,
  addPart,
  listParts,
  openForWriting,
  rewritePart,
  type PartRow,
} from './text-tables.ts';

// The writer of search.db. It runs in a thread of its own where that is possible.
// Invariants
// - A page and its marks are in one transaction. So after a crash the index goes on behind the last page it has. Pages
//   that follow each other share a transaction, because each one leaves segments behind that must be merged later.
// - Numbers of documents rise and are never used again: a higher number came later.
// - A document that left is in no answer from then on. Its tokens leave the file with `purge`.

const PART_DOCS = 65_536;
const PART_CHARS = 96 * 1024 * 1024;

/** A transaction ends after this many characters, or this many changes. */
const GROUP_CHARS = 2 * 1024 * 1024;
const GROUP_CHANGES = 8192;

/** The share of free pages that the file may keep. */
const FREE_MAX = 0.02;

const INSERT_DOC = `INSERT INTO docs (id, thread, ref, depth, at, piece, kind, type, model, blob)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

interface DocRow {
  readonly id: number;
  readonly piece: number;
}

export class WriteDesk {
  readonly #path: string;
  #db: Database;
  #statements: Statements;
  readonly #names = new Map<string, number>();
  #parts: PartRow[];
  #next = 1;
  #documents = 0;
  #chars = 0;
  #removed = 0;
  #insert: { readonly part: number; readonly statement: Statement } | undefined;
  /** Of the transaction that is open, if there is one. */
  #group = { chars: 0, changes: 0 };

  constructor(path: string) {
    this.#path = path;
    this.#db = openForWriting(path);
    this.#statements = new Statements(this.#db);
    this.#parts = [];
    this.#remember();
  }

  state(name: string): string | undefined {
    return this.#statements.value('SELECT value FROM state WHERE name = ?', name) as
      | string
      | undefined;
  }

  /** As `setState`, and on the disk when it returns. */
  keepState(name: string, value: string): void {
    this.#commit();
    this.#db.pragma('synchronous = FULL');
    this.setState(name, value);
    this.#db.pragma('synchronous = NORMAL');
  }

  setState(name: string, value: string): void {
    const sql =
      'INSERT INTO state (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
    this.#statements.get(sql).run(name, value);
  }

  /** Returns the number of rows that left. A page that is not the last is found with those that follow it. */
  apply({ source, changes, marks, isLast }: IndexPage): number {
    this.#removed = 0;
    this.#guard(() => {
      if (!this.#db.inTransaction) this.#db.exec('BEGIN IMMEDIATE');
      for (const change of changes) this.#change(source, change);
      for (const [thread, mark] of marks) this.#mark(source, thread, mark);
    });
    this.#group.changes += changes.length;
    const { chars, changes: count } = this.#group;
    if (isLast || chars >= GROUP_CHARS || count >= GROUP_CHANGES) this.#commit();
    return this.#removed;
  }

  getMark(source: string, thread: string): string | undefined {
    const sql = 'SELECT mark FROM threads WHERE source = ? AND name = ?';
    return (this.#statements.value(sql, this.#name(source), thread) as string | null) ?? undefined;
  }

  listMarks(source: string, limit: number, after: string): string[] {
    const sql = `SELECT name FROM threads WHERE source = ? AND name > ? AND mark IS NOT NULL ORDER BY name LIMIT ?`;
    const rows = this.#statements.get(sql).all(this.#name(source), after, limit);
    return (rows as { name: string }[]).map(({ name }) => name);
  }

  findRef(source: string, ref: string): Fork | undefined {
    const value = toRef(ref);
    // Names have an index of their own. Numbers are few in each thread that shares them.
    const isName = typeof value === 'string' ? " AND typeof(d.ref) = 'text'" : '';
    const sql = `SELECT t.name AS thread, d.depth FROM docs d JOIN threads t ON t.id = d.thread
      WHERE d.ref = ?${isName} AND t.source = ? LIMIT 1`;
    return this.#statements.get(sql).get(value, this.#name(source)) as Fork | undefined;
  }

  /** Rewrites the parts that documents left, and cuts what is free off the file. */
  purge(): void {
    this.#commit();
    const dirty = this.#parts.filter((part) => part.dirty !== 0);
    for (const part of dirty) {
      this.#transaction(() => {
        rewritePart(this.#db, part.id);
        if (part.sealed !== 0) pruneRanks(this.#db, part);
        this.#statements.get('UPDATE parts SET dirty = 0 WHERE id = ?').run(part.id);
      });
    }
    this.#parts = listParts(this.#db);
    this.#db.exec('PRAGMA incremental_vacuum');
    this.#checkpoint();
  }

  get isDirty(): boolean {
    return this.#parts.some(({ dirty }) => dirty !== 0);
  }

  /** Cuts free pages off the file, where there are enough of them. Sealing and removals leave them behind. */
  close(): void {
    try {
      this.#commit();
    } catch {
      // The pages are read again from where the index is.
    }
    const [free, pages] = [this.#db.pragma('freelist_count'), this.#db.pragma('page_count')];
    if (Number(free) > Number(pages) * FREE_MAX) this.#db.exec('PRAGMA incremental_vacuum');
    this.#db.close();
  }

  #commit(): void {
    if (!this.#db.inTransaction) return;
    const isFull = this.#guard(() => {
      this.setState('next', String(this.#next));
      this.setState(DOCUMENTS, String(this.#documents));
      const isFilled = this.#noteFill();
      this.#db.exec('COMMIT');
      return isFilled;
    });
    this.#group = { chars: 0, changes: 0 };
    if (isFull) this.#seal();
  }

  #transaction<T>(work: () => T): T {
    return this.#guard(() => this.#db.transaction(work, 'immediate'));
  }

  /** Work on the open transaction: all of it fails with a part of it. */
  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      // Facts in memory may be from the transaction that failed.
      this.#remember();
      throw error;
    }
  }

  #remember(): void {
    this.#names.clear();
    this.#parts = listParts(this.#db);
    this.#next = Number(this.state('next') ?? 1);
    this.#documents = Number(this.state(DOCUMENTS) ?? 0);
    this.#chars = this.#parts[0]?.chars ?? 0;
    this.#group = { chars: 0, changes: 0 };
  }

  /** A reader may hold the log for a moment; then a later purge or closing empties it. */
  #checkpoint(): void {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (this.#db.pragma('wal_checkpoint(TRUNCATE)') === 0) return;
    }
  }

  #change(source: string, change: IndexChange): void {
    if ('put' in change) this.#put(source, change.put);
    else if ('remove' in change) this.#removeDoc(source, change.remove);
    else if ('removeThread' in change) this.#removeThread(source, change.removeThread);
    else {
      const { thread, parent, depth } = change.fork;
      const sql = 'INSERT OR REPLACE INTO forks (thread, parent, depth) VALUES (?, ?, ?)';
      this.#statements
        .get(sql)
        .run(this.#thread(source, thread), this.#thread(source, parent), depth);
    }
  }

  #put(source: string, text: IndexedText): void {
    const thread = this.#thread(source, text.thread);
    const ref = toRef(text.ref);
    this.#removeRef(thread, ref);
    const fields = fieldTokens(text).join(' ');
    const [kind, type] = [this.#name(text.kind), this.#name(text.type)];
    const model = text.model === undefined ? 0 : this.#name(text.model);
    const rows = cutRows(text.texts);
    for (const [piece, { part, whole, words, sketch }] of rows.entries()) {
      const id = this.#next;
      this.#next += 1;
      this.#insertInto(this.#openPart(id).id).run(id, part, whole, fields);
      this.#statements
        .get(INSERT_DOC)
        .run(id, thread, ref, text.depth, text.at, piece, kind, type, model, text.blob ?? null);
      this.#statements.get(INSERT_FRESH).run(id, piece, words, sketch);
      this.#chars += part.length;
      this.#group.chars += part.length;
    }
    if (rows.length > 0) this.#documents += 1;
  }

  /** Kept by its number: looking the text of a statement up for each document took as long as its other work here. */
  #insertInto(part: number): Statement {
    if (this.#insert?.part !== part) {
      const sql = `INSERT INTO ${partName(part)} (rowid, part, whole, field) VALUES (?, ?, ?, ?)`;
      this.#insert = { part, statement: this.#statements.get(sql) };
    }
    return this.#insert.statement;
  }

  /** The part that takes new documents. */
  #openPart(id: number): PartRow {
    const [newest] = this.#parts;
    if (newest !== undefined && newest.sealed === 0) return newest;
    const part = addPart(this.#db, (newest?.id ?? 0) + 1, id);
    this.#parts.unshift(part);
    this.#chars = 0;
    return part;
  }

  #noteFill(): boolean {
    const [newest] = this.#parts;
    if (newest === undefined || newest.sealed !== 0) return false;
    this.#statements.get('UPDATE parts SET chars = ? WHERE id = ?').run(this.#chars, newest.id);
    return this.#chars >= PART_CHARS || this.#next - newest.first >= PART_DOCS;
  }

  #seal(): void {
    const [newest] = this.#parts;
    if (newest === undefined) return;
    this.#transaction(() => {
      rewritePart(this.#db, newest.id);
      sealRanks(this.#db, newest, this.#next);
      this.#statements.get('UPDATE parts SET sealed = 1, dirty = 0 WHERE id = ?').run(newest.id);
    });
    this.#renew();
    this.#parts = listParts(this.#db);
  }

  /** FTS5 keeps the table of words of each part that a connection wrote to: a megabyte for each. */
  #renew(): void {
    const db = openForWriting(this.#path);
    this.#db.close();
    this.#db = db;
    this.#statements = new Statements(db);
    this.#insert = undefined;
  }

  #removeDoc(source: string, { thread, ref }: { thread: string; ref: string }): void {
    const id = this.#findThread(source, thread);
    if (id !== undefined) this.#removeRef(id, toRef(ref));
  }

  #removeRef(thread: number, ref: string | bigint): void {
    const rows = this.#statements
      .get('SELECT id, piece FROM docs WHERE thread = ? AND ref = ?')
      .all(thread, ref);
    for (const row of rows as DocRow[]) this.#removeRow(row);
  }

  #removeThread(source: string, name: string): void {
    const thread = this.#findThread(source, name);
    if (thread === undefined) return;
    const rows = this.#statements.get('SELECT id, piece FROM docs WHERE thread = ?').all(thread);
    for (const row of rows as DocRow[]) this.#removeRow(row);
    this.#statements.get('DELETE FROM forks WHERE thread = ?').run(thread);
  }

  #removeRow({ id, piece }: DocRow): void {
    const at = this.#parts.findIndex(({ first }) => first <= id);
    const part = this.#parts[at];
    if (part === undefined) return;
    this.#statements.get(`DELETE FROM ${partName(part.id)} WHERE rowid = ?`).run(id);
    this.#statements.get('DELETE FROM docs WHERE id = ?').run(id);
    this.#statements.get('DELETE FROM fresh WHERE id = ?').run(id);
    this.#removed += 1;
    if (piece === 0) this.#documents -= 1;
    if (part.dirty !== 0) return;
    this.#statements.get('UPDATE parts SET dirty = 1 WHERE id = ?').run(part.id);
    this.#parts[at] = { ...part, dirty: 1 };
  }

  #mark(source: string, thread: string, mark: string | undefined): void {
    const id = this.#thread(source, thread);
    if (mark === undefined) this.#statements.get('DELETE FROM threads WHERE id = ?').run(id);
    else this.#statements.get('UPDATE threads SET mark = ? WHERE id = ?').run(mark, id);
  }

  #thread(source: string, name: string): number {
    return this.#findThread(source, name) ?? this.#addThread(source, name);
  }

  #findThread(source: string, name: string): number | undefined {
    const sql = 'SELECT id FROM threads WHERE source = ? AND name = ?';
    return this.#statements.value(sql, this.#name(source), name) as number | undefined;
  }

  #addThread(source: string, name: string): number {
    const sql = 'INSERT INTO threads (source, name) VALUES (?, ?)';
    return Number(this.#statements.get(sql).run(this.#name(source), name).lastInsertRowid);
  }

  #name(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const found = this.#statements.value('SELECT id FROM names WHERE name = ?', name) as
      | number
      | undefined;
    const id =
      found ??
      Number(this.#statements.get('INSERT INTO names (name) VALUES (?)').run(name).lastInsertRowid);
    this.#names.set(name, id);
    return id;
  }
}

/** Numbers take less room, if they are bound as integers. */
function toRef(ref: string): string | bigint {
  return /^[1-9]\d{0,14}$/.test(ref) ? BigInt(ref) : ref;
}
