import type { Hash } from '../../../base/brand.ts';
import { decompress } from '../../../base/compress.ts';
import { type QuipuError, notFound, corrupt } from '../../../base/errors.ts';
import { bytesToHash, createHasher, hashBytes, hashToBytes } from '../../../base/hash.ts';
import { BlobCodec } from '../../../format/blob-record.ts';
import { LruCache } from '../../../base/lru-cache.ts';
import { prepared } from '../../../postgres/sql.ts';
import type { Sql } from '../../../postgres/sql.ts';
import type { BlobUse } from '../../engine.ts';
import type { BlobStat } from '../../rows.ts';
import { BLOB_BYTES_MAX, PART_BYTES } from './intake.ts';

interface BlobColumns {
  readonly hash: Uint8Array;
  readonly codec: number;
  readonly size: number;
  readonly stored_size: number;
  readonly bytes: Uint8Array | null;
  readonly upload: string | null;
}

/** A row of a blob, with its bytes if they are in the cache. */
interface BlobRow extends BlobColumns {
  readonly cached?: Uint8Array | undefined;
}

interface PartColumns {
  readonly nth: number;
  readonly hash: Uint8Array;
  readonly codec: number;
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** A part, or a blob that is one row. */
type Piece = Pick<PartColumns, 'hash' | 'codec' | 'size' | 'bytes'>;

/** The statement reads the blobs of the first list. For the second list it only tells which blobs exist. */
const READ_BLOBS = prepared('read-blobs')`
  SELECT hash, codec, size, stored_size, upload, CASE WHEN hash = ANY($2::bytea[]) THEN NULL ELSE bytes END AS bytes
  FROM quipu.blobs WHERE hash = ANY($1::bytea[])`;

const STAT_BLOB = prepared('stat-blob')`
  SELECT size, stored_size, upload FROM quipu.blobs WHERE hash = $1`;

const LIST_BLOBS = prepared('list-blobs')`
  SELECT hash FROM quipu.blobs WHERE hash BETWEEN $1 AND $2 AND hash > $3 ORDER BY hash LIMIT $4`;

const READ_PARTS = prepared('read-parts')`
  SELECT nth, hash, codec, size, bytes FROM quipu.blob_parts
  WHERE upload = $1 AND nth >= $2 AND nth < $3 ORDER BY nth`;

/** Parts read at a time: a megabyte or two, whatever the size of the blob. */
const PARTS_AT_ONCE = 4;
/** The number of blobs in one statement. Blobs that are one row have at most a quarter of a megabyte. */
const BLOBS_AT_ONCE = 64;

/**
 * Reads blobs by hash. Every byte from the database is checked against the requested hash. Bytes that were read
 * before are cached. They are returned again only after the database has said that the blob still exists: another
 * server may have erased or collected it.
 */
export class BlobReader {
  readonly #sql: Sql;
  readonly #cache: LruCache<Hash, Uint8Array>;
  /** The blobs requested since the last statement was sent. */
  #waiting: Map<Hash, ((found: Promise<BlobRow | undefined>) => void)[]> = new Map();

  constructor(sql: Sql, cacheBytes: number) {
    this.#sql = sql;
    this.#cache = new LruCache(cacheBytes, (bytes) => bytes.length + 128);
  }

  async statBlob(hash: Hash): Promise<BlobStat | undefined> {
    const [row] = await this.#sql.query<BlobColumns>(STAT_BLOB, [hashToBytes(hash)]);
    if (row === undefined) return undefined;
    const chunks = row.upload === null ? 0 : Math.ceil(row.size / PART_BYTES);
    return { hash, size: row.size, storedSize: row.stored_size, chunks };
  }

  /** The hashes that begin with `prefix`, in hex digits, sorted, after `after`. */
  async listBlobs(prefix: string, limit: number, after?: Hash): Promise<Hash[]> {
    const rows = await this.#sql.query<Pick<BlobColumns, 'hash'>>(LIST_BLOBS, [
      Buffer.from(prefix.padEnd(64, '0'), 'hex'),
      Buffer.from(prefix.padEnd(64, 'f'), 'hex'),
      Buffer.from(after ?? '', 'hex'),
      Math.min(limit, Number.MAX_SAFE_INTEGER),
    ]);
    return rows.map(({ hash }) => bytesToHash(hash));
  }

  /** The hashes whose bytes are in the cache. */
  atHand(hashes: readonly Hash[]): Hash[] {
    return hashes.filter((hash) => this.#cache.get(hash) !== undefined);
  }

  /** The bytes of an existing blob, from the row or the cache. Undefined for a blob that must be read. */
  take(hash: Hash, read: Piece | undefined): Uint8Array | undefined {
    const kept = this.#cache.get(hash);
    if (kept !== undefined || read === undefined) return kept;
    try {
      const bytes = whole(read, hash);
      this.#cache.set(hash, bytes);
      return bytes;
    } catch {
      // A caller that reads this blob by itself gets the error.
      return undefined;
    }
  }

  async view(hash: Hash, use: BlobUse = 'again'): Promise<Uint8Array | undefined> {
    const row = await this.#find(hash);
    if (row === undefined) return undefined;
    if (row.upload === null) return this.#whole(row, hash, use);
    if (row.size < 0 || row.size > BLOB_BYTES_MAX)
      throw damaged(hash, `it cannot have ${row.size} bytes`);
    const all = new Uint8Array(row.size);
    let at = 0;
    for await (const piece of this.#readParts(hash, row, 0, row.size)) {
      if (at + piece.length > all.length) throw damaged(hash, 'its parts do not add up');
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  async *read(hash: Hash, start: number, end: number): AsyncGenerator<Uint8Array> {
    const row = await this.#find(hash);
    if (row === undefined) {
      throw notFound('blob', hash);
    }
    if (row.upload !== null) {
      yield* this.#readParts(hash, row, start, Math.min(end, row.size));
      return;
    }
    const bytes = this.#whole(row, hash);
    const range = bytes.subarray(start, Math.min(end, bytes.length));
    if (range.length > 0) yield new Uint8Array(range);
  }

  #whole(row: BlobRow, hash: Hash, use: BlobUse = 'again'): Uint8Array {
    if (row.cached !== undefined) return row.cached;
    const bytes = whole({ ...row, bytes: row.bytes ?? new Uint8Array() }, hash);
    if (use === 'again') this.#cache.set(hash, bytes);
    return bytes;
  }

  /** Yields the requested range of each part. A whole blob is also checked as a whole. */
  async *#readParts(
    hash: Hash,
    { upload, size }: BlobColumns,
    start: number,
    end: number,
  ): AsyncGenerator<Uint8Array> {
    const hasher = start === 0 && end === size ? createHasher() : undefined;
    let next = Math.floor(start / PART_BYTES);
    const last = Math.ceil(end / PART_BYTES);
    while (next < last && end > start) {
      const wanted = [upload, next, Math.min(last, next + PARTS_AT_ONCE)];
      const parts = await this.#sql.query<PartColumns>(READ_PARTS, wanted);
      if (parts[0]?.nth !== next) throw damaged(hash, `part ${next} is missing`);
      for (const part of parts) {
        if (part.nth !== next) throw damaged(hash, `part ${next} is missing`);
        const bytes = whole(part, hash);
        const at = next * PART_BYTES;
        const range = bytes.subarray(Math.max(0, start - at), Math.min(bytes.length, end - at));
        // The hash covers the bytes that are given, and not those of the parts: the size in the row may be damaged.
        hasher?.update(range);
        yield range;
        next += 1;
      }
    }
    if (hasher !== undefined && hasher.digest() !== hash)
      throw damaged(hash, 'its parts do not add up');
  }

  /** Requests of the same moment are sent together. */
  async #find(hash: Hash): Promise<BlobRow | undefined> {
    return new Promise((resolve) => {
      if (this.#waiting.size === 0) queueMicrotask(() => this.#ask());
      this.#waiting.set(hash, [...(this.#waiting.get(hash) ?? []), resolve]);
      if (this.#waiting.size >= BLOBS_AT_ONCE) this.#ask();
    });
  }

  #ask(): void {
    const waiting = this.#waiting;
    if (waiting.size === 0) return;
    this.#waiting = new Map();
    const asked = this.#read([...waiting.keys()]);
    for (const [hash, resolves] of waiting) {
      for (const resolve of resolves) resolve(asked.then((rows) => rows.get(hash)));
    }
  }

  async #read(hashes: readonly Hash[]): Promise<Map<Hash, BlobRow>> {
    const cached = new Map<Hash, Uint8Array>();
    for (const hash of hashes) {
      const bytes = this.#cache.get(hash);
      if (bytes !== undefined) cached.set(hash, bytes);
    }
    const lists = [hashes.map(hashToBytes), [...cached.keys()].map(hashToBytes)];
    const rows = await this.#sql.query<BlobColumns>(READ_BLOBS, lists);
    const found = new Map<Hash, BlobRow>();
    for (const row of rows) {
      const hash = bytesToHash(row.hash);
      found.set(hash, { ...row, cached: cached.get(hash) });
    }
    for (const hash of cached.keys()) if (!found.has(hash)) this.#cache.delete(hash);
    return found;
  }
}

function whole({ hash, codec, size, bytes }: Piece, of: Hash): Uint8Array {
  try {
    const raw = codec === BlobCodec.zstd ? decompress(bytes, size) : bytes;
    if (hashBytes(raw) === bytesToHash(hash)) return raw;
  } catch {
    // A stream that does not decompress is damaged, like one that gives other bytes.
  }
  throw damaged(of, 'its bytes are not those that the hash names');
}

function damaged(hash: Hash, what: string): QuipuError<'CORRUPT'> {
  return corrupt('blobs', `blob ${hash}: ${what}`);
}
