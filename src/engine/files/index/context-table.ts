import type { Database, Statement } from 'better-sqlite3';
import { ShelfDamaged, assertRowSum, rowSum } from './shelf.ts';
import type { ContextPageQuery, ContextPlace, ShelfBatch } from './shelf.ts';

// Contexts, and the lists of them. A context is listed under the tag of all contexts, of its kind and of each of
// its labels. So every page is one range of one tag, whatever the query.
// Invariants
// - A context that is known (`head` is set) and not removed has one listing row per tag, at its
//   `updated_at`; no other has any.
// - Metadata may come before the context itself; until then the row answers nothing.

export const CONTEXT_TABLES_SQL = `
  CREATE TABLE contexts (
    id INTEGER PRIMARY KEY, head INTEGER, base INTEGER NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, removed INTEGER NOT NULL, kind TEXT, labels TEXT NOT NULL, sum INTEGER NOT NULL
  );
  CREATE TABLE listing (
    tag TEXT NOT NULL, updated_at INTEGER NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (tag, updated_at, id)
  ) WITHOUT ROWID;
`;

const ALL_TAG = 'all';

interface Row {
  id: number;
  head: number | null;
  base: number;
  created_at: number;
  updated_at: number;
  removed: number;
  kind: string | null;
  /** A JSON list. */
  labels: string;
}
type SummedRow = Row & { sum: number };
type ListingKey = [tag: string, updatedAt: number, id: number];

export class ContextTable {
  readonly #get: Statement<[number], SummedRow>;
  readonly #all: Statement<[], SummedRow>;
  readonly #put: Statement<[SummedRow]>;
  readonly #list: Statement<ListingKey, { updated_at: number; id: number }>;
  readonly #enlist: Statement<ListingKey>;
  readonly #delist: Statement<ListingKey>;
  readonly #countListed: Statement<[], number>;
  readonly #countAll: Statement<[string], number>;

  constructor(db: Database) {
    this.#get = db.prepare('SELECT * FROM contexts WHERE id = ?');
    this.#all = db.prepare('SELECT * FROM contexts');
    this.#put = db.prepare(
      `INSERT OR REPLACE INTO contexts
       VALUES (@id, @head, @base, @created_at, @updated_at, @removed, @kind, @labels, @sum)`,
    );
    this.#list = db.prepare(
      `SELECT updated_at, id FROM listing WHERE tag = ? AND (updated_at, id) < (?, ?)
       ORDER BY updated_at DESC, id DESC`,
    );
    this.#enlist = db.prepare('INSERT OR IGNORE INTO listing VALUES (?, ?, ?)');
    this.#delist = db.prepare('DELETE FROM listing WHERE tag = ? AND updated_at = ? AND id = ?');
    this.#countAll = db
      .prepare<[string], number>('SELECT count(*) FROM listing WHERE tag = ?')
      .pluck();
    this.#countListed = db.prepare<[], number>('SELECT count(*) FROM listing').pluck();
  }

  /** The number of listed contexts. */
  count(): number {
    return this.#countAll.get(ALL_TAG) ?? 0;
  }

  apply(batch: Pick<ShelfBatch, 'contexts' | 'contextMeta'>): void {
    const rows = new Map<number, { before: Row | undefined; after: Row }>();
    const rowOf = (id: number): Row => {
      const known = rows.get(id);
      if (known !== undefined) return known.after;
      const before = this.#read(id);
      const after = { ...(before ?? unknownContext(id)) };
      rows.set(id, { before, after });
      return after;
    };
    for (const { id, head, base, createdAt, updatedAt, removed } of batch.contexts) {
      const times = { created_at: createdAt, updated_at: updatedAt };
      Object.assign(rowOf(id), { head, base, ...times, removed: removed ? 1 : 0 });
    }
    for (const { id, kind, labels } of batch.contextMeta) {
      Object.assign(rowOf(id), { kind: kind ?? null, labels: JSON.stringify(labels) });
    }
    for (const { before, after } of rows.values()) this.#write(before, after);
  }

  find(id: number): ContextPlace | undefined {
    const row = this.#read(id);
    if (row === undefined || row.head === null) return undefined;
    const { head, base } = row;
    const times = { createdAt: row.created_at, updatedAt: row.updated_at };
    return { head, base, ...times, removed: row.removed === 1 };
  }

  list(query: ContextPageQuery): number[] {
    const { label, kind, limit, before } = query;
    const tag =
      label !== undefined ? labelTag(label) : kind !== undefined ? kindTag(kind) : ALL_TAG;
    const start = before ?? { updatedAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };
    const ids: number[] = [];
    if (limit <= 0) return ids;
    for (const listed of this.#list.iterate(tag, start.updatedAt, start.id)) {
      const row = this.#read(listed.id);
      if (row === undefined || row.updated_at !== listed.updated_at || !tagsOf(row).includes(tag)) {
        throw new ShelfDamaged(`context ${listed.id} is listed where it is not`);
      }
      if (kind !== undefined && row.kind !== kind) continue;
      ids.push(row.id);
      if (ids.length === limit) break;
    }
    return ids;
  }

  /** Reads everything and throws at the first wrong row. */
  verify(): void {
    let tags = 0;
    for (const row of this.#all.iterate()) tags += tagsOf(checked(row)).length;
    if (this.#countListed.get() !== tags) throw new ShelfDamaged('contexts are not all listed');
  }

  #read(id: number): Row | undefined {
    const row = this.#get.get(id);
    return row === undefined ? undefined : checked(row);
  }

  #write(before: Row | undefined, after: Row): void {
    if (before !== undefined) {
      for (const tag of tagsOf(before)) this.#delist.run(tag, before.updated_at, before.id);
    }
    for (const tag of tagsOf(after)) this.#enlist.run(tag, after.updated_at, after.id);
    this.#put.run({ ...after, sum: rowSum(...columns(after)) });
  }
}

function unknownContext(id: number): Row {
  const nothing = { head: null, base: 0, created_at: 0, updated_at: 0, removed: 0 };
  return { id, ...nothing, kind: null, labels: '[]' };
}

function columns(row: Row): (number | string | null)[] {
  const { id, head, base, created_at, updated_at, removed, kind, labels } = row;
  return [id, head, base, created_at, updated_at, removed, kind, labels];
}

function checked(row: SummedRow): Row {
  assertRowSum('contexts', row.sum, ...columns(row));
  return row;
}

function tagsOf(row: Row): string[] {
  if (row.head === null || row.removed === 1) return [];
  const labels = new Set(JSON.parse(row.labels) as string[]);
  const kind = row.kind === null ? [] : [kindTag(row.kind)];
  return [ALL_TAG, ...kind, ...[...labels].map(labelTag)];
}

function kindTag(kind: string): string {
  return `kind:${kind}`;
}

function labelTag(label: string): string {
  return `label:${label}`;
}
