import type { Database, Statement } from '../../../base/sqlite.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { checked, ShelfDamaged, summed } from './shelf.ts';
import type { TimeRange } from '../../engine.ts';
import type { FieldRange } from '../../context-meta.ts';
import type { ContextPageQuery, ContextPlace, ShelfBatch } from './shelf.ts';

// Contexts, and the lists of them. A context is listed under the tag of all contexts, of its kind and of each of its
// labels, so such a page is one range of one tag. The fields of a context's `meta` and its name change rarely, and its
// time with every append: they are not in the listing. A query for them takes the contexts with that field or name,
// sorts them by time, and SQLite bounds the memory for that.
// Invariants
// - A context that is known (`head` is set) and not removed has one listing row per tag, at its
//   `updated_at`; no other has any.
// - Metadata may come before the context itself. Until then the row is in no list.
// - A context has as many rows of fields as its row says.

export const CONTEXT_TABLES_SQL = `
  CREATE TABLE contexts (
    id INTEGER PRIMARY KEY, head INTEGER, base INTEGER NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, removed INTEGER NOT NULL, name BLOB, kind TEXT, labels TEXT NOT NULL,
    fields INTEGER NOT NULL, sum INTEGER NOT NULL
  );
  CREATE INDEX contexts_by_name ON contexts (name) WHERE name IS NOT NULL;
  CREATE TABLE listing (
    tag TEXT NOT NULL, updated_at INTEGER NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (tag, updated_at, id)
  ) WITHOUT ROWID;
  CREATE TABLE fields (
    name BLOB NOT NULL, value BLOB NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (name, value, id)
  ) WITHOUT ROWID;
  CREATE INDEX fields_by_id ON fields (id, name);
`;

const ALL_TAG = 'all';

interface Row {
  id: number;
  head: number | null;
  base: number;
  created_at: number;
  updated_at: number;
  removed: number;
  /** In UTF-8, so that a prefix is a range. */
  name: Uint8Array | null;
  kind: string | null;
  /** A JSON list. */
  labels: string;
  /** The number of its fields. */
  fields: number;
}
type SummedRow = Row & { sum: number };
type NamedRange = [from: Uint8Array, to: Uint8Array, updatedAt: number, id: number];
type FieldKey = [name: Uint8Array, from: Uint8Array, to: Uint8Array];
type ListingKey = [tag: string, updatedAt: number, id: number];

export class ContextTable {
  readonly #get: Statement<[number], SummedRow>;
  readonly #all: Statement<[], SummedRow>;
  readonly #put: Statement<[SummedRow]>;
  readonly #named: Statement<[Uint8Array], SummedRow>;
  readonly #listNamed: Statement<NamedRange, SummedRow>;
  readonly #listFields: Statement<[...FieldKey, number, number], { id: number }>;
  readonly #hasField: Statement<[number, ...FieldKey], { id: number }>;
  readonly #putField: Statement<[Uint8Array, Uint8Array, number]>;
  readonly #dropFields: Statement<[number]>;
  readonly #list: Statement<ListingKey, { updated_at: number; id: number }>;
  readonly #enlist: Statement<ListingKey>;
  readonly #delist: Statement<ListingKey>;
  readonly #countListed: Statement<[], { count: number }>;
  readonly #countFields: Statement<[], { count: number }>;
  readonly #countAll: Statement<[string], { count: number }>;

  constructor(db: Database) {
    this.#get = db.prepare('SELECT * FROM contexts WHERE id = ?');
    this.#all = db.prepare('SELECT * FROM contexts');
    this.#put = db.prepare(
      `INSERT OR REPLACE INTO contexts
       VALUES (@id, @head, @base, @created_at, @updated_at, @removed, @name, @kind, @labels, @fields,
        @sum)`,
    );
    const known = 'head IS NOT NULL AND removed = 0';
    this.#named = db.prepare('SELECT * FROM contexts WHERE name = ? ORDER BY id DESC');
    this.#listNamed = db.prepare(
      `SELECT * FROM contexts WHERE name >= ? AND name < ? AND ${known} AND (updated_at, id) < (?, ?)
       ORDER BY updated_at DESC, id DESC`,
    );
    this.#listFields = db.prepare(
      `SELECT c.id FROM fields f CROSS JOIN contexts c ON c.id = f.id
       WHERE f.name = ? AND f.value >= ? AND f.value < ? AND c.${known}
       AND (c.updated_at, c.id) < (?, ?) ORDER BY c.updated_at DESC, c.id DESC`,
    );
    this.#hasField = db.prepare(
      'SELECT id FROM fields WHERE id = ? AND name = ? AND value >= ? AND value < ? LIMIT 1',
    );
    this.#putField = db.prepare('INSERT OR IGNORE INTO fields VALUES (?, ?, ?)');
    this.#dropFields = db.prepare('DELETE FROM fields WHERE id = ?');
    this.#countFields = db.prepare('SELECT count(*) AS count FROM fields');
    this.#list = db.prepare(
      `SELECT updated_at, id FROM listing WHERE tag = ? AND (updated_at, id) < (?, ?)
       ORDER BY updated_at DESC, id DESC`,
    );
    this.#enlist = db.prepare('INSERT OR IGNORE INTO listing VALUES (?, ?, ?)');
    this.#delist = db.prepare('DELETE FROM listing WHERE tag = ? AND updated_at = ? AND id = ?');
    this.#countAll = db.prepare('SELECT count(*) AS count FROM listing WHERE tag = ?');
    this.#countListed = db.prepare('SELECT count(*) AS count FROM listing');
  }

  /** The number of listed contexts. */
  count(): number {
    return this.#countAll.get(ALL_TAG)?.count ?? 0;
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
    for (const { id, name, kind, labels, fields } of batch.contextMeta) {
      const given = name === undefined ? null : encodeUtf8(name);
      const tags = { kind: kind ?? null, labels: JSON.stringify(labels), fields: fields.length };
      Object.assign(rowOf(id), { name: given, ...tags });
      this.#dropFields.run(id);
      for (const field of fields) this.#putField.run(field.name, field.value, id);
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

  withName(name: string): number[] {
    return this.#named.all(encodeUtf8(name)).map((row) => checked('contexts', row).id);
  }

  list(query: ContextPageQuery): number[] {
    const ids: number[] = [];
    if (query.limit <= 0) return ids;
    for (const row of this.#walk(query)) {
      ids.push(row.id);
      if (ids.length === query.limit) break;
    }
    return ids;
  }

  countOf(query: ContextPageQuery): number {
    let count = 0;
    for (const _ of this.#walk(query)) count += 1;
    return count;
  }

  /** The rows that the query takes, in the order of the list, one at a time. */
  *#walk(query: ContextPageQuery): Generator<Row> {
    const { label, kind, fields = [], created } = query;
    const name = query.namePrefix === undefined ? undefined : nameRange(query.namePrefix);
    const since = query.updated?.since ?? 0;
    for (const row of this.#candidates(query)) {
      if (row.updated_at < since) return;
      if (kind !== undefined && row.kind !== kind) continue;
      if (label !== undefined && !tagsOf(row).includes(labelTag(label))) continue;
      if (!isWithin(row.created_at, created)) continue;
      if (name !== undefined && !isNamed(row, name)) continue;
      if (fields.every((range) => this.#fits(row.id, range))) yield row;
    }
  }

  #fits(id: number, { name, from, to, found }: FieldRange): boolean {
    return (this.#hasField.get(id, name, from, to) !== undefined) === found;
  }

  /** The rows of the condition that leaves the fewest, in the order of the list. */
  *#candidates(query: ContextPageQuery): Generator<Row> {
    const { namePrefix, label, kind, fields = [] } = query;
    const start = startOf(query);
    // A value leaves fewer than a beginning, and that fewer than any value.
    const [field] = fields
      .filter(({ found }) => found)
      .toSorted((a, b) => b.from.length - a.from.length);
    if (field !== undefined) {
      const { name, from, to } = field;
      for (const { id } of this.#listFields.iterate(name, from, to, start.updatedAt, start.id)) {
        const row = this.#read(id);
        if (row === undefined) throw new ShelfDamaged(`context ${id} has fields and is not there`);
        yield row;
      }
      return;
    }
    if (namePrefix !== undefined) {
      const { from, to } = nameRange(namePrefix);
      const rows = this.#listNamed.iterate(from, to, start.updatedAt, start.id);
      for (const row of rows) yield checked('contexts', row);
      return;
    }
    const tag =
      label !== undefined ? labelTag(label) : kind !== undefined ? kindTag(kind) : ALL_TAG;
    for (const listed of this.#list.iterate(tag, start.updatedAt, start.id)) {
      const row = this.#read(listed.id);
      if (row === undefined || row.updated_at !== listed.updated_at || !tagsOf(row).includes(tag)) {
        throw new ShelfDamaged(`context ${listed.id} is listed where it is not`);
      }
      yield row;
    }
  }

  /** Reads everything and throws at the first wrong row. */
  verify(): void {
    let tags = 0;
    let fields = 0;
    for (const row of this.#all.iterate()) {
      tags += tagsOf(checked('contexts', row)).length;
      fields += row.fields;
    }
    if (this.#countListed.get()?.count !== tags)
      throw new ShelfDamaged('contexts are not all listed');
    if (this.#countFields.get()?.count !== fields)
      throw new ShelfDamaged('fields of contexts are missing');
  }

  #read(id: number): Row | undefined {
    const row = this.#get.get(id);
    return row && checked('contexts', row);
  }

  #write(before: Row | undefined, after: Row): void {
    if (before !== undefined) {
      for (const tag of tagsOf(before)) this.#delist.run(tag, before.updated_at, before.id);
    }
    for (const tag of tagsOf(after)) this.#enlist.run(tag, after.updated_at, after.id);
    this.#put.run(summed(after));
  }
}

/** The columns stand in the order of the table. */
function unknownContext(id: number): Row {
  const nothing = { head: null, base: 0, created_at: 0, updated_at: 0, removed: 0 };
  return { id, ...nothing, name: null, kind: null, labels: '[]', fields: 0 };
}

function tagsOf(row: Row): string[] {
  if (row.head === null || row.removed === 1) return [];
  const labels = new Set(JSON.parse(row.labels) as string[]);
  const kind = row.kind === null ? [] : [kindTag(row.kind)];
  return [ALL_TAG, ...kind, ...[...labels].map(labelTag)];
}

/** The place in the list behind which a page begins. */
function startOf({ before, updated }: ContextPageQuery): { updatedAt: number; id: number } {
  const far = Number.MAX_SAFE_INTEGER;
  const start = before ?? { updatedAt: far, id: far };
  const until = updated?.until ?? far;
  return until <= start.updatedAt ? { updatedAt: until, id: 0 } : start;
}

function isWithin(time: number, { since = 0, until = Infinity }: TimeRange = {}): boolean {
  return time >= since && time < until;
}

interface NameRange {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

function nameRange(prefix: string): NameRange {
  const from = encodeUtf8(prefix);
  // No text has the byte 255 in UTF-8.
  return { from, to: Buffer.concat([from, Buffer.of(0xff)]) };
}

function isNamed({ name }: Row, { from, to }: NameRange): boolean {
  return name !== null && Buffer.compare(name, from) >= 0 && Buffer.compare(name, to) < 0;
}

function kindTag(kind: string): string {
  return `kind:${kind}`;
}

function labelTag(label: string): string {
  return `label:${label}`;
}
