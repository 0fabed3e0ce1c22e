import * as entries from './entries.ts';
import { existsSync, renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Hash, KeyHash } from '../../../base/brand.ts';
import { type Database, isSqliteError, MEMORY } from '../../../base/sqlite.ts';
import { ContextTable } from './context-table.ts';
import { type Manifest, ManifestTable, RUN_STRIDE } from './manifest.ts';
import { NameTables } from './name-tables.ts';
import {
  cleanMarkPath,
  copyToMemory,
  isSmall,
  leaveCleanMark,
  openDatabase,
  removeDatabase,
  takeCleanMark,
} from './open-database.ts';
import { RunSet } from './run-set.ts';
import { RunTables } from './run-tables.ts';
import type { IsGone } from './run.ts';
import {
  type BlobPlace,
  type Counts,
  type Covered,
  type PlaceRef,
  type Positions,
  type Shelf,
  type ShelfBatch,
  ShelfDamaged,
  type ShelfSource,
  type Totals,
} from './shelf.ts';

// The shelf in one SQLite file. Entries that are looked up by hash are in sorted runs (see run-set.ts). Everything
// else is in plain tables whose rows carry a checksum.
// Invariants
// - Each change is one transaction, and the manifest is written in it.
// - After a failed change memory is loaded again from the file, so both hold the same.
// - A file that cannot be written, for lack of room or any other reason, is left as it is. The shelf continues in
//   memory. The next opening catches the outdated file up or rebuilds it.

export class SqliteShelf implements Shelf {
  #path: string;
  #db: Database;
  #tables: Tables;
  readonly #key: Buffer = Buffer.alloc(32);
  #gone: Set<number> = new Set();
  #manifest: Manifest;
  #sets: RunSets;

  constructor(path: string) {
    this.#path = path;
    this.#db = openDatabase(path);
    try {
      this.#tables = tablesOf(this.#db);
      this.#manifest = this.#tables.manifests.read();
      this.#sets = this.#load();
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  get inMemory(): boolean {
    return this.#path === MEMORY;
  }

  positions(): Positions {
    return this.#manifest.positions;
  }

  totals(): Totals {
    return this.#manifest.totals;
  }

  gonePacks(): Iterable<number> {
    return this.#manifest.gonePacks;
  }

  apply(batch: ShelfBatch): void {
    this.#change(batch, () => {
      this.#sets.blobs.add(entries.encodeBlobs(batch.blobs));
      this.#sets.keys.add(entries.encodeKeys(batch.keys));
      this.#sets.sha256.add(entries.encodeSha256s(batch.sha256));
      this.#tables.contexts.apply(batch);
      this.#tables.names.apply(batch);
      if (batch.mergeLater !== true) this.#merge(Infinity);
    });
  }

  merge(entries: number): boolean {
    let more = false;
    this.#change({ ...this.#manifest, gonePacks: [] }, () => {
      more = this.#merge(entries);
    });
    return more;
  }

  #merge(most: number): boolean {
    const more = Object.values(this.#sets).map((set) => set.merge(most));
    return more.includes(true);
  }

  findBlob(hash: Hash): BlobPlace | undefined {
    this.#key.write(hash, 'hex');
    const entry = asRead(() => this.#sets.blobs.find(this.#key));
    return entry === undefined ? undefined : entries.decodeBlob(entry);
  }

  findSha256(sha256: string): Hash | undefined {
    this.#key.write(sha256, 'hex');
    const entry = asRead(() => this.#sets.sha256.find(this.#key));
    return entry === undefined ? undefined : entries.decodeSha256Hash(entry);
  }

  findKey(key: KeyHash): number | undefined {
    this.#key.write(key, 'hex');
    const entry = asRead(() => this.#sets.keys.find(this.#key));
    return entry === undefined ? undefined : entries.decodeKeyTurn(entry);
  }

  readonly patchesOf: Shelf['patchesOf'] = guarded((turns) => this.#tables.names.patchesOf(turns));
  readonly getContext: Shelf['getContext'] = guarded((id) => this.#tables.contexts.find(id));
  readonly withName: Shelf['withName'] = guarded((name) => this.#tables.contexts.withName(name));
  readonly listContexts: Shelf['listContexts'] = guarded((query) =>
    this.#tables.contexts.list(query),
  );
  readonly countContexts: Shelf['countContexts'] = guarded((query) =>
    this.#tables.contexts.countOf(query),
  );
  readonly findDoc: Shelf['findDoc'] = guarded((name) => this.#tables.names.findDoc(name));
  readonly listDocs: Shelf['listDocs'] = guarded((...page) => this.#tables.names.listDocs(...page));
  readonly listLogs: Shelf['listLogs'] = guarded((...page) => this.#tables.names.listLogs(...page));

  listBlobs(prefix: string, limit: number, after?: Hash): Hash[] {
    return asRead(() => [...this.#hashesFrom(prefix, limit, after)].sort().slice(0, limit));
  }

  /** The hashes of a page in the order of a walk: by their first eight digits, and those with the same in any order. */
  #hashesFrom(prefix: string, limit: number, after = ''): ReadonlySet<Hash> {
    const found = new Set<Hash>();
    const first = (after > prefix ? after : prefix).slice(0, 8).padEnd(8, '0');
    const end = prefix.slice(0, 8).padEnd(8, 'f');
    let last = '';
    for (const entry of this.#sets.blobs.walk(Number.parseInt(first, 16))) {
      const { hash } = entries.decodeBlob(entry);
      const head = hash.slice(0, 8);
      if (head > end || (found.size >= limit && head !== last)) break;
      last = head;
      if (hash > after && hash.startsWith(prefix)) found.add(hash);
    }
    return found;
  }

  *walkBlobs(): Generator<BlobPlace> {
    const walk = this.#sets.blobs.walk();
    for (
      let next = asRead(() => walk.next());
      next.done !== true;
      next = asRead(() => walk.next())
    ) {
      yield entries.decodeBlob(next.value);
    }
  }

  forgetBlobs(places: readonly PlaceRef[], next: Covered = this.#manifest): void {
    this.#change({ ...next, gonePacks: [] }, () => {
      for (const place of places) {
        this.#sets.blobs.drop(
          (...at) => entries.isAt(place, ...at),
          Buffer.from(place.hash, 'hex'),
        );
      }
    });
  }

  counts(): Counts {
    return asRead(() => ({
      contexts: this.#tables.contexts.count(),
      ...this.#tables.names.count(),
    }));
  }

  /**
   * Syncing the log of SQLite is enough: the next process that opens the database reads the log first. The database
   * file itself must not be touched: closing it anywhere in the process would drop SQLite's lock on it.
   */
  async sync(): Promise<void> {
    if (this.inMemory) return;
    const file = await open(`${this.#path}-wal`, 'r+');
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  close(): void {
    if (!this.#db.isOpen) return;
    const isWhole = !this.inMemory && this.#tryCheckpoint();
    this.#db.close();
    if (isWhole) leaveCleanMark(this.#path);
  }

  /** Releases the file without marking it clean. */
  abandon(): void {
    this.#db.close();
  }

  /** Reads the whole file and throws when anything in it is wrong. */
  verify(): void {
    const verdict = this.#db.pragma('integrity_check(1)');
    if (verdict !== 'ok') throw new ShelfDamaged(String(verdict));
    for (const set of Object.values(this.#sets)) set.drop(() => false);
    this.#tables.contexts.verify();
    this.#tables.names.verify();
  }

  /** Closing must work for a damaged file, or it could not be replaced. */
  #tryCheckpoint(): boolean {
    try {
      this.#db.pragma('wal_checkpoint(TRUNCATE)');
      return true;
    } catch {
      // Without the mark, the next opening checks for itself.
      return false;
    }
  }

  #change(next: Pick<Manifest, 'positions' | 'totals' | 'gonePacks'>, work: () => void): void {
    try {
      this.#transact(next, work);
    } catch (error) {
      this.#loadAgain();
      if (this.inMemory || !isRefusal(error)) throw isDamage(error) ? toDamage(error) : error;
      asRead(() => this.#moveToMemory());
      this.#change(next, work);
    }
  }

  #transact(next: Pick<Manifest, 'positions' | 'totals' | 'gonePacks'>, work: () => void): void {
    this.#db.transaction(() => {
      for (const pack of next.gonePacks) this.#gone.add(pack);
      work();
      this.#manifest = {
        positions: next.positions,
        totals: next.totals,
        gonePacks: [...this.#gone],
        blobs: this.#sets.blobs.state(),
        keys: this.#sets.keys.state(),
        sha256: this.#sets.sha256.state(),
      };
      this.#tables.manifests.write(this.#manifest);
    });
  }

  #moveToMemory(): void {
    const copy = copyToMemory(this.#db);
    this.#db.close();
    this.#db = copy;
    this.#path = MEMORY;
    this.#tables = tablesOf(copy);
    this.#loadAgain();
  }

  #loadAgain(): void {
    asRead(() => {
      this.#manifest = this.#tables.manifests.read();
      this.#sets = this.#load();
    });
  }

  #load(): RunSets {
    const { blobs, keys, sha256, gonePacks } = this.#manifest;
    this.#gone = new Set(gonePacks);
    const isGone: IsGone = (block, at) => this.#gone.has(entries.packAt(block, at));
    const stride = RUN_STRIDE;
    const { BLOB_LAYOUT, KEY_LAYOUT, SHA256_LAYOUT } = entries;
    const { runs } = this.#tables;
    return {
      blobs: new RunSet(runs, { layout: BLOB_LAYOUT, stride, isGone }, blobs),
      keys: new RunSet(runs, { layout: KEY_LAYOUT, stride }, keys),
      sha256: new RunSet(runs, { layout: SHA256_LAYOUT, stride }, sha256),
    };
  }
}

type RunSets = Readonly<Record<'blobs' | 'keys' | 'sha256', RunSet>>;

interface Tables {
  readonly manifests: ManifestTable;
  readonly runs: RunTables;
  readonly contexts: ContextTable;
  readonly names: NameTables;
}

function tablesOf(db: Database): Tables {
  return {
    manifests: new ManifestTable(db),
    runs: new RunTables(db),
    contexts: new ContextTable(db),
    names: new NameTables(db),
  };
}

/** Reading never fails on a healthy file, so every failure means damage, whatever SQLite calls it. */
function asRead<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw toDamage(error);
  }
}

/** The same read, whose every failure means damage. */
function guarded<Given extends unknown[], T>(read: (...given: Given) => T): (...given: Given) => T {
  return (...given) => {
    try {
      return read(...given);
    } catch (error) {
      throw toDamage(error);
    }
  };
}

/** The file is unchanged and cannot be written: no room, no permission, in use elsewhere, or a failing disk. */
function isRefusal(error: unknown): boolean {
  if (!isSqliteError(error)) return false;
  return /^SQLITE_(FULL|IOERR|READONLY|PERM|CANTOPEN|BUSY|LOCKED)/.test(error.code);
}

export function isDamage(error: unknown): boolean {
  if (error instanceof ShelfDamaged) return true;
  if (!isSqliteError(error)) return false;
  return /^SQLITE_(CORRUPT|NOTADB|ERROR|MISMATCH|FORMAT)/.test(error.code);
}

function toDamage(error: unknown): unknown {
  if (!isSqliteError(error)) return error;
  return new ShelfDamaged(error.message, { cause: error });
}

/** The shelf at `path`, and a new one built in a file beside it. */
export function sqliteShelves(path: string): ShelfSource {
  const aside = `${path}.new`;
  return {
    open: () => openSqliteShelf(path),
    create(inMemory) {
      if (inMemory === true) return openMemoryShelf();
      removeDatabase(aside);
      return openSqliteShelf(aside);
    },
    install(fresh, old) {
      old.close();
      if (fresh.inMemory === true) return fresh;
      fresh.close();
      removeDatabase(path);
      // A crash between the two steps leaves a mark that fits no file, or none. Both end in a rebuild.
      renameSync(aside, path);
      if (existsSync(cleanMarkPath(aside))) renameSync(cleanMarkPath(aside), cleanMarkPath(path));
      return openSqliteShelf(path);
    },
  };
}

/**
 * Opens the shelf at `path`. A shelf that is missing, damaged or of another schema comes back empty. A shelf whose
 * file cannot be used also comes back empty, in memory.
 */
export function openSqliteShelf(path: string): Shelf {
  try {
    const mark = existsSync(path) ? takeCleanMark(path) : 'bad';
    if (mark !== 'bad') {
      try {
        return openExisting(path, mark === 'good');
      } catch (error) {
        if (!isDamage(error)) throw error;
      }
    }
    removeDatabase(path);
    return new SqliteShelf(path);
  } catch {
    return openMemoryShelf();
  }
}

function openMemoryShelf(): Shelf {
  return new SqliteShelf(MEMORY);
}

function openExisting(path: string, known: boolean): Shelf {
  const shelf = new SqliteShelf(path);
  try {
    if (!known && isSmall(path)) shelf.verify();
    return shelf;
  } catch (error) {
    shelf.abandon();
    throw error;
  }
}
