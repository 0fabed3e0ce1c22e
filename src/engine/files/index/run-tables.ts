import { LruCache } from '../../../base/lru-cache.ts';
import type { Database, Statement } from '../../../base/sqlite.ts';
import { crc32 } from '../../../format/bytes.ts';
import { Run, type RunState } from './run.ts';
import { ShelfDamaged } from './shelf.ts';

// Chunks and guides of all runs, as rows of two tables. A row's number is run * 2^20 + chunk, and its checksum
// covers that number. So a row in the wrong place is as bad as a damaged one. Run numbers are never reused: a stale
// row cannot be taken for a new one.

const CHUNKS_PER_RUN = 2 ** 20;
const CRC_BYTES = 4;

/** With its checksum and SQLite's own overhead, a chunk of this size fills one page of 4 KiB. */
export const CHUNK_BYTES_MAX = 4000;

const RECENT_BYTES = 16 * 1024 * 1024;

export const RUN_TABLES_SQL = `
  CREATE TABLE chunks (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
  CREATE TABLE guides (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
`;

interface Row {
  readonly id: number;
  readonly data: Uint8Array;
}

export class RunTables {
  readonly #getChunk: Statement<[number], Pick<Row, 'data'>>;
  readonly #putChunk: Statement<[number, Buffer]>;
  readonly #deleteChunks: Statement<[number, number]>;
  readonly #listGuides: Statement<[number, number], Row>;
  readonly #putGuide: Statement<[number, Buffer]>;
  readonly #deleteGuides: Statement<[number, number]>;

  /** Chunks as they were read. A lookup by hash, or the next one in the order of hashes, often needs the same chunk. */
  readonly #recent = new LruCache<number, Buffer>(RECENT_BYTES, (data) => data.length + CRC_BYTES);

  constructor(db: Database) {
    this.#getChunk = db.prepare('SELECT data FROM chunks WHERE id = ?');
    this.#putChunk = db.prepare('INSERT OR REPLACE INTO chunks VALUES (?, ?)');
    this.#deleteChunks = db.prepare('DELETE FROM chunks WHERE id >= ? AND id < ?');
    this.#listGuides = db.prepare(
      'SELECT id, data FROM guides WHERE id >= ? AND id < ? ORDER BY id',
    );
    this.#putGuide = db.prepare('INSERT INTO guides VALUES (?, ?)');
    this.#deleteGuides = db.prepare('DELETE FROM guides WHERE id >= ? AND id < ?');
  }

  /** Reads that go through many chunks in a row keep none of them. */
  readChunk(run: Run, chunk: number, isKept = false): Buffer {
    const id = rowId(run.id, chunk);
    const known = this.#recent.get(id);
    if (known !== undefined) return known;
    const row = this.#getChunk.get(id);
    if (row === undefined) throw new ShelfDamaged(`chunk ${chunk} of run ${run.id} is missing`);
    const data = unseal(id, row.data);
    if (isKept) this.#recent.set(id, data);
    return data;
  }

  writeChunk(run: Run, chunk: number, data: Buffer): void {
    const id = rowId(run.id, chunk);
    this.#recent.delete(id);
    this.#putChunk.run(id, seal(id, data));
  }

  /** Writes fences and filters of the chunks from `first` to the run's end. */
  writeGuide(run: Run, first: number): void {
    const id = rowId(run.id, first);
    this.#putGuide.run(id, seal(id, run.guide(first)));
  }

  /** Drops the chunks of a run below `base`. */
  trim(run: Run, base: number): void {
    if (base === run.base) return;
    this.#deleteChunks.run(rowId(run.id, run.base), rowId(run.id, base));
    run.base = base;
  }

  dropRun(run: Run): void {
    this.trim(run, run.end);
    this.#deleteGuides.run(rowId(run.id, 0), rowId(run.id + 1, 0));
  }

  load(state: RunState): Run {
    const run = new Run(state.id);
    for (const row of this.#listGuides.iterate(rowId(state.id, 0), rowId(state.id + 1, 0))) {
      const first = row.id - rowId(state.id, 0);
      if (!run.addGuide(first, unseal(row.id, row.data)) || run.end > state.end) {
        throw new ShelfDamaged(`a guide of run ${state.id} does not fit`);
      }
    }
    if (run.end !== state.end) throw new ShelfDamaged(`run ${state.id} lacks a guide`);
    run.base = state.base;
    run.entries = state.entries;
    return run;
  }
}

function rowId(run: number, chunk: number): number {
  return run * CHUNKS_PER_RUN + chunk;
}

function seal(id: number, data: Buffer): Buffer {
  const sealed = Buffer.allocUnsafe(data.length + CRC_BYTES);
  data.copy(sealed);
  sealed.writeUInt32LE(checksum(id, data), data.length);
  return sealed;
}

function unseal(id: number, bytes: Uint8Array): Buffer {
  const sealed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const length = sealed.length - CRC_BYTES;
  if (length < 0) throw new ShelfDamaged(`row ${id} is cut short`);
  const data = sealed.subarray(0, length);
  if (sealed.readUInt32LE(length) !== checksum(id, data)) {
    throw new ShelfDamaged(`row ${id} has a wrong checksum`);
  }
  return data;
}

const idBytes = Buffer.alloc(8);

function checksum(id: number, data: Buffer): number {
  idBytes.writeDoubleLE(id);
  return crc32(data, crc32(idBytes));
}
