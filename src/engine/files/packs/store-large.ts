import type { Hash } from '../../../base/brand.ts';
import { tooLarge } from '../../../base/errors.ts';
import { createHasher, createSha256, hashBytes } from '../../../base/hash.ts';
import {
  BlobCodec,
  type Chunk,
  compressBlob,
  encodeBlobRecord,
  encodeChunkList,
  type PreparedBlob,
} from '../../../format/blob-record.ts';
import { CHUNK_MAX, cutPoint, LARGE_BLOB_BYTES } from '../../../format/chunker.ts';
import { type BulkExtent, type ChunkPlace } from '../../plan/prepared-batch.ts';
import type { BulkLease } from './bulk-packs.ts';

/** A blob's length is a u32 in its record. */
const BLOB_BYTES_MAX = 0xffff_ffff;
/**
 * Records are collected into writes of about this size. Every put in progress holds as much: with 1 MiB, 200 uploads
 * at once took 250 MB; with this size they take 100 MB.
 */
const WRITE_BYTES = 256 * 1024;

/** A blob read to its end: small ones are in memory, large ones in a bulk pack and synced. */
export type StoredSource =
  | { readonly kind: 'small'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'large';
      readonly list: PreparedBlob;
      readonly extent: BulkExtent;
      readonly lease: BulkLease;
    };

export interface LargeStore {
  hasBlob(hash: Hash): boolean;
  lease(): Promise<BulkLease>;
}

/** Reads `source` once. Only a large blob is written here, in bounded memory. */
export async function storeSource(
  store: LargeStore,
  source: AsyncIterable<Uint8Array>,
  wantSha256: boolean,
): Promise<StoredSource> {
  const gathered = new Gathered();
  let writer: LargeWriter | undefined;
  try {
    for await (const piece of source) {
      gathered.push(piece);
      if (gathered.length < LARGE_BLOB_BYTES) continue;
      writer ??= new LargeWriter(store, await store.lease(), wantSha256);
      await writer.take(gathered, false);
    }
    if (writer === undefined) return { kind: 'small', bytes: gathered.takeAll() };
    await writer.take(gathered, true);
    return await writer.finish();
  } catch (error) {
    await writer?.lease.release();
    throw error;
  }
}

/** Bytes that arrived and are not cut into chunks yet: less than `LARGE_BLOB_BYTES` and one piece. */
class Gathered {
  /** Joined only when they are looked at: joining them for every piece copied each byte five times over. */
  #pieces: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(piece: Uint8Array): void {
    // A source may fill the same buffer again for its next piece.
    this.#pieces.push(Buffer.from(piece));
    this.#length += piece.length;
  }

  get view(): Uint8Array {
    const [only] = this.#pieces;
    if (this.#pieces.length === 1 && only !== undefined) return only;
    const joined = Buffer.concat(this.#pieces, this.#length);
    this.#pieces = [joined];
    return joined;
  }

  drop(bytes: number): void {
    const rest = this.view.subarray(bytes);
    this.#pieces = [rest];
    this.#length = rest.length;
  }

  takeAll(): Uint8Array {
    const all = this.view;
    this.#pieces = [];
    this.#length = 0;
    return all;
  }
}

class LargeWriter {
  readonly lease: BulkLease;
  readonly #store: LargeStore;
  readonly #whole = createHasher();
  readonly #sha256: ReturnType<typeof createSha256> | undefined;
  readonly #chunks: Chunk[] = [];
  readonly #places: Map<Hash, ChunkPlace> = new Map();
  #buffered: Uint8Array[] = [];
  #bufferedBytes = 0;
  #size = 0;

  constructor(store: LargeStore, lease: BulkLease, wantSha256: boolean) {
    this.#store = store;
    this.lease = lease;
    this.#sha256 = wantSha256 ? createSha256() : undefined;
  }

  /** Cuts off whole chunks. Keeps bytes that could still be part of a longer chunk, unless `last`. */
  async take(gathered: Gathered, last: boolean): Promise<void> {
    const bytes = gathered.view;
    let at = 0;
    while (bytes.length - at >= (last ? 1 : CHUNK_MAX)) {
      const end = cutPoint(bytes, at, bytes.length);
      await this.#addChunk(bytes.subarray(at, end));
      at = end;
    }
    gathered.drop(at);
  }

  async finish(): Promise<StoredSource> {
    await this.#flush();
    await this.lease.sync();
    const hash = this.#whole.digest();
    const stored = encodeChunkList(this.#chunks);
    const { pack, start, position } = this.lease;
    return {
      kind: 'large',
      lease: this.lease,
      list: {
        hash,
        compressed: { codec: BlobCodec.chunks, rawLength: this.#size, stored },
        sha256: this.#sha256?.digest(),
      },
      extent: { pack, offset: start, length: position - start, chunks: [...this.#places.values()] },
    };
  }

  async #addChunk(bytes: Uint8Array): Promise<void> {
    this.#size += bytes.length;
    if (this.#size > BLOB_BYTES_MAX) {
      throw tooLarge(
        'blob',
        BLOB_BYTES_MAX,
        this.#size,
        `a blob has at most ${BLOB_BYTES_MAX} bytes; store it in parts`,
      );
    }
    this.#whole.update(bytes);
    this.#sha256?.update(bytes);
    const hash = hashBytes(bytes);
    this.#chunks.push({ hash, size: bytes.length });
    if (this.#places.has(hash) || this.#store.hasBlob(hash)) return;
    const { codec, rawLength, stored } = compressBlob(bytes);
    const offset = this.lease.position + this.#bufferedBytes;
    this.#places.set(hash, { hash, codec, offset, rawLength, storedLength: stored.length });
    const record = encodeBlobRecord({ codec, rawLength, hash, stored });
    this.#buffered.push(record);
    this.#bufferedBytes += record.length;
    if (this.#bufferedBytes >= WRITE_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#bufferedBytes === 0) return;
    const bytes = Buffer.concat(this.#buffered);
    this.#buffered = [];
    this.#bufferedBytes = 0;
    await this.lease.write(bytes);
  }
}
