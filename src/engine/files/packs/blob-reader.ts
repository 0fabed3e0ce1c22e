import type { Hash } from '../../../base/brand.ts';
import { decompress } from '../../../base/compress.ts';
import { type QuipuError, isQuipuError, notFound } from '../../../base/errors.ts';
import { createHasher, hashBytes } from '../../../base/hash.ts';
import { LruCache } from '../../../base/lru-cache.ts';
import {
  BLOB_OVERHEAD_BYTES,
  BlobCodec,
  type Chunk,
  decodeBlobRecord,
  decodeChunkList,
} from '../../../format/blob-record.ts';
import type { BlobUse, BlobView } from '../../engine.ts';
import type { BlobStat } from '../../rows.ts';
import { corrupt } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { BlobPlace } from '../index/shelf.ts';
import { readSteadily, type StateWriter } from '../truth/state.ts';
import { packFile, scanPack } from './pack-file.ts';

const FORGET_STEP = 4096;
const NO_BYTES = new Uint8Array();

/** Records that lie in so many bytes are read together: as much as a read does without waiting. */
const STRETCH_BYTES = 64 * 1024;

/** Finds a record; undefined when the store does not have the blob. */
type FindBlob = (hash: Hash, use?: BlobUse) => BlobPlace | undefined;

type Coded = Pick<BlobPlace, 'codec' | 'rawLength' | 'hash'>;
type FoundBlobs = Map<Hash, BlobView | undefined>;

/** Reads blobs by hash. Every byte from the disk is checked against the requested hash. */
export class BlobReader {
  readonly #files: StoreFiles;
  readonly #find: FindBlob;
  readonly #cache: LruCache<Hash, Uint8Array>;
  /** Where the blobs of the last `viewMany` end. */
  #next: Pick<BlobPlace, 'pack' | 'offset'> = { pack: 0, offset: 0 };

  constructor(files: StoreFiles, find: FindBlob, cacheBytes: number) {
    this.#files = files;
    this.#find = find;
    this.#cache = new LruCache(cacheBytes, (bytes) => bytes.length + 128);
  }

  async stat(hash: Hash): Promise<BlobStat | undefined> {
    const place = this.#find(hash);
    if (place === undefined) return undefined;
    const own = BLOB_OVERHEAD_BYTES + place.storedLength;
    if (place.codec !== BlobCodec.chunks) {
      return { hash, size: place.rawLength, storedSize: own, chunks: 0 };
    }
    const chunks = await this.#readList(place);
    const distinct = new Set(chunks.map((chunk) => chunk.hash));
    let storedSize = own;
    for (const chunk of distinct) {
      storedSize += BLOB_OVERHEAD_BYTES + this.#mustFind(chunk, place).storedLength;
    }
    return { hash, size: place.rawLength, storedSize, chunks: chunks.length };
  }

  forget(hashes: readonly Hash[]): void {
    for (const hash of hashes) this.#cache.delete(hash);
  }

  /** Drops every blob from the cache that `isKept` rejects, with a pause now and then. */
  async forgetUnless(isKept: (hash: Hash) => boolean, breathe: () => Promise<void>): Promise<void> {
    // The list holds the hashes of this moment: a blob that is read during a pause moves to the end.
    const hashes = [...this.#cache.keys()];
    for (const [at, hash] of hashes.entries()) {
      if (!isKept(hash)) this.#cache.delete(hash);
      if (at % FORGET_STEP === FORGET_STEP - 1) await breathe();
    }
  }

  /** The chunks of a blob that is stored in chunks. No chunks for any other blob. */
  async chunksOf(hash: Hash): Promise<readonly Hash[]> {
    const place = this.#find(hash);
    if (place?.codec !== BlobCodec.chunks) return [];
    return (await this.#readList(place)).map((chunk) => chunk.hash);
  }

  /** Like `view`, if the bytes are in memory. */
  peek(hash: Hash): Uint8Array | undefined {
    return this.#cache.get(hash);
  }

  /** The bytes are shared with the cache: a caller that wants to change them makes a copy. */
  async view(hash: Hash, use: BlobUse = 'again'): Promise<Uint8Array | undefined> {
    const cached = this.peek(hash);
    if (cached !== undefined) return cached;
    const place = this.#find(hash);
    if (place === undefined) return undefined;
    try {
      if (place.codec === BlobCodec.chunks) return await this.#join(place);
      return use === 'once' ? await this.#readWhole(place) : await this.#keep(place);
    } catch (error) {
      if (isQuipuError(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  /** Like `view` for many blobs, each read once. Undefined for a blob that `view` must be asked for. */
  async viewMany(hashes: readonly Hash[]): Promise<(BlobView | undefined)[]> {
    const found: FoundBlobs = new Map();
    for (const hash of hashes) {
      const bytes = this.peek(hash);
      found.set(hash, bytes && { bytes });
    }
    await this.#takeNext(found);
    const places = [...found].flatMap(([hash, view]) =>
      view === undefined ? (this.#find(hash, 'once') ?? []) : [],
    );
    await this.#takeAt(places, found);
    return hashes.map((hash) => found.get(hash));
  }

  /**
   * Takes the blobs that lie behind those of the call before: whoever reads everything asks in the order in which it was
   * written. To look each of them up would read the whole index, too, and push out of memory what others need of it.
   */
  async #takeNext(found: FoundBlobs): Promise<void> {
    const { pack, offset } = this.#next;
    if (offset === 0) return;
    const bytes = (await this.#readQuietly(pack, offset, offset + STRETCH_BYTES)) ?? NO_BYTES;
    const wanted = new Set(found.keys());
    for (const item of scanPack(bytes, offset)) {
      if (item.kind !== 'blob' || !wanted.delete(item.hash)) continue;
      this.#next = { pack, offset: item.offset + item.bytes };
      const isNew = found.get(item.hash) === undefined && item.codec !== BlobCodec.chunks;
      if (isNew) found.set(item.hash, viewOf(item.stored, item));
      if (wanted.size === 0) return;
    }
  }

  /** Takes blobs from where the index has them. Those that lie near each other are read together. */
  async #takeAt(places: readonly BlobPlace[], found: FoundBlobs): Promise<void> {
    const last = places.at(-1);
    const records = places
      .filter(({ codec }) => codec !== BlobCodec.chunks)
      .sort((a, b) => a.pack - b.pack || a.offset - b.offset);
    for (const { pack, begin, end, some } of stretchesOf(records)) {
      const bytes = await this.#readQuietly(pack, begin, end);
      if (bytes === undefined) continue;
      for (const place of some) {
        const at = place.offset - begin;
        const stored = storedIn(bytes.subarray(at, at + recordBytes(place)), place);
        found.set(place.hash, stored && viewOf(stored, place));
      }
    }
    if (last !== undefined)
      this.#next = { pack: last.pack, offset: last.offset + recordBytes(last) };
  }

  /** Undefined when the file cannot be read: whoever reads a blob of it alone is told why. */
  #readQuietly(pack: number, begin: number, end: number): Promise<Uint8Array | undefined> {
    return this.#files.read(packFile(pack), begin, end - begin).catch(() => undefined);
  }

  async #join(place: BlobPlace): Promise<Uint8Array> {
    const chunks = (await this.#readList(place)).map(({ hash }) => this.#mustFind(hash, place));
    // The check runs before memory is allocated: a damaged record may claim any length.
    if (chunks.reduce((sum, { rawLength }) => sum + rawLength, 0) !== place.rawLength) {
      throw notTheSum(place);
    }
    const whole = new Uint8Array(place.rawLength);
    const hasher = createHasher();
    let at = 0;
    for (const chunk of chunks) {
      hasher.update(await this.#readWhole(chunk, whole.subarray(at, at + chunk.rawLength)));
      at += chunk.rawLength;
    }
    if (hasher.digest() !== place.hash) throw notTheSum(place);
    return whole;
  }

  async #keep(place: BlobPlace): Promise<Uint8Array> {
    const bytes = await this.#readWhole(place);
    // The blob may have been collected or erased while it was read.
    if (this.#find(place.hash) !== undefined) this.#cache.set(place.hash, bytes);
    return bytes;
  }

  async *read(hash: Hash, start: number, end: number): AsyncGenerator<Uint8Array> {
    const place = this.#find(hash);
    if (place === undefined) {
      throw missing(hash);
    }
    if (place.codec === BlobCodec.chunks) {
      yield* this.#readChunks(place, start, Math.min(end, place.rawLength));
      return;
    }
    const bytes = await this.view(hash);
    const range = bytes?.subarray(start, Math.min(end, bytes.length));
    if (range !== undefined && range.length > 0) yield new Uint8Array(range);
  }

  /** Yields the requested range of each chunk. A whole blob is also checked as a whole. */
  async *#readChunks(place: BlobPlace, start: number, end: number): AsyncGenerator<Uint8Array> {
    const whole = start === 0 && end === place.rawLength ? createHasher() : undefined;
    let at = 0;
    for (const chunk of await this.#readList(place)) {
      const next = at + chunk.size;
      if (next > start && at < end) {
        const bytes = await this.#readWhole(this.#mustFind(chunk.hash, place));
        whole?.update(bytes);
        yield bytes.subarray(Math.max(0, start - at), Math.min(chunk.size, end - at));
      }
      at = next;
    }
    if (at !== place.rawLength || (whole !== undefined && whole.digest() !== place.hash)) {
      throw notTheSum(place);
    }
  }

  async #readList(place: BlobPlace): Promise<Chunk[]> {
    const chunks = decodeChunkList(await this.#readStored(place));
    if (chunks !== undefined) return chunks;
    throw corrupt(
      packFile(place.pack),
      place.offset,
      `the chunk list of blob ${place.hash} is damaged`,
    );
  }

  #mustFind(chunk: Hash, of: BlobPlace): BlobPlace {
    const place = this.#find(chunk);
    if (place !== undefined) return place;
    // When a blob is collected or erased during a read, the blob goes before its chunks.
    if (this.#find(of.hash) === undefined) throw missing(of.hash);
    throw corrupt(packFile(of.pack), of.offset, `chunk ${chunk} of blob ${of.hash} is missing`);
  }

  /** With `into`, a chunk is decompressed where it belongs, and not copied there. */
  async #readWhole(place: BlobPlace, into?: Uint8Array): Promise<Uint8Array> {
    const bytes = rawOf(await this.#readStored(place), place, into);
    if (bytes !== undefined) return bytes;
    throw corrupt(packFile(place.pack), place.offset, `blob ${place.hash} is damaged`);
  }

  async #readStored(place: BlobPlace): Promise<Uint8Array> {
    const { pack, offset, hash } = place;
    const stored = storedIn(
      await this.#files.read(packFile(pack), offset, recordBytes(place)),
      place,
    );
    if (stored !== undefined) return stored;
    // A collection may have moved or removed the record since it was looked up.
    const now = this.#find(hash);
    if (now === undefined) throw missing(hash);
    if (now.pack !== pack || now.offset !== offset) return this.#readStored(now);
    throw corrupt(packFile(pack), offset, `the record of blob ${hash} is damaged`);
  }
}

function recordBytes({ storedLength }: BlobPlace): number {
  return BLOB_OVERHEAD_BYTES + storedLength;
}

/** Cuts records, which are sorted by pack and offset, into stretches that are read in one go. */
function* stretchesOf(
  records: readonly BlobPlace[],
): Generator<{ pack: number; begin: number; end: number; some: readonly BlobPlace[] }> {
  for (let from = 0, to = 1; to <= records.length; to += 1) {
    const [first, last, next] = [records[from], records[to - 1], records[to]];
    if (first === undefined || last === undefined) return;
    const isNear =
      next?.pack === first.pack && next.offset + recordBytes(next) - first.offset <= STRETCH_BYTES;
    if (isNear) continue;
    const end = last.offset + recordBytes(last);
    yield { pack: first.pack, begin: first.offset, end, some: records.slice(from, to) };
    from = to;
  }
}

/** The stored bytes of a record; undefined when the bytes are not the record that the place names. */
function storedIn(bytes: Uint8Array, place: BlobPlace): Uint8Array | undefined {
  const record = decodeBlobRecord(bytes);
  const isSame =
    record?.hash === place.hash &&
    record.codec === place.codec &&
    record.rawLength === place.rawLength;
  return isSame ? record.stored : undefined;
}

/** The blob for someone who may write it again. */
function viewOf(stored: Uint8Array, place: Coded): BlobView | undefined {
  const bytes = rawOf(stored, place);
  return bytes && { bytes, ...(place.codec === BlobCodec.zstd && { zstd: stored }) };
}

/** The bytes of a blob, checked against its hash, and in `into` if that is given. */
function rawOf(
  stored: Uint8Array,
  { codec, rawLength, hash }: Coded,
  into?: Uint8Array,
): Uint8Array | undefined {
  try {
    const bytes = codec === BlobCodec.zstd ? decompress(stored, rawLength, into) : stored;
    if (into !== undefined && bytes.buffer !== into.buffer) into.set(bytes);
    return hashBytes(bytes) === hash ? bytes : undefined;
  } catch {
    // A stream that does not decompress is damaged, like one that gives other bytes.
    return undefined;
  }
}

function notTheSum({ pack, offset, hash }: BlobPlace): QuipuError<'CORRUPT'> {
  return corrupt(packFile(pack), offset, `the chunks of blob ${hash} do not add up`);
}

function missing(hash: Hash): QuipuError<'NOT_FOUND'> {
  return notFound('blob', hash);
}

/** Reads the bytes of a blob, piece by piece. A piece that is read again begins at the same position. */
export async function* readPieces(
  writer: StateWriter,
  hash: Hash,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array> {
  let at = start;
  const begin = (): AsyncGenerator<Uint8Array> => writer.core.blobs.read(hash, at, end);
  for (let pieces = begin(); ;) {
    const next = await readSteadily(writer, async () => {
      try {
        return await pieces.next();
      } catch (error) {
        pieces = begin();
        throw error;
      }
    });
    if (next.done === true) return;
    at += next.value.length;
    yield next.value;
  }
}
