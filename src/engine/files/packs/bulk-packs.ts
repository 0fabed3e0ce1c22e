import type { Hash } from '../../../base/brand.ts';
import { tooLarge } from '../../../base/errors.ts';
import { createHasher, createSha256, hashBytes } from '../../../base/hash.ts';
import { writeFully } from '../disk/file-handles.ts';
import { toQuipuError, unknownOutcome, withCodes } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Journal } from '../journal/journal.ts';
import {
  encodePackHeader,
  PACK_BYTES,
  packFile,
  PACKS_FOLDER,
  removeUnnamed,
} from './pack-file.ts';
import type { Tails } from '../truth/state.ts';
import type { IoFile } from '../../io.ts';
import type { BulkExtent, ChunkPlace } from '../../plan/prepared-batch.ts';
import {
  BlobCodec,
  type Chunk,
  compressBlob,
  encodeBlobRecord,
  encodeChunkList,
  type PreparedBlob,
} from '../../../format/blob-record.ts';
import { CHUNK_MAX, cutPoint, LARGE_BLOB_BYTES } from '../../../format/chunker.ts';
import { OPEN_FILE_HEADER_BYTES, PackKind } from '../../../format/file-header.ts';

// Large blobs go directly to a pack of their own kind, with their own sync, before the frame that names them.
// Sending them through the journal would write every byte twice.
// Invariants
// - A bulk pack has one writer at a time, and bytes count only up to the tail that a frame gave it. Bytes beyond
//   the tail were left by an unfinished put, and the next put overwrites them. There is one exception: the outcome
//   of the frame that would make them count is unknown. Then no put begins any more, because the next opening may
//   find that frame, and must find the bytes that it names.

export interface BulkLease {
  readonly pack: number;
  readonly start: number;
  /** Appends bytes. `sync` makes everything so far durable, the file name included. */
  write(bytes: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  /** The place of the next byte. */
  readonly position: number;
  release(): Promise<void>;
}

/** What packs for large blobs need of a store. `Core` is it. */
interface BulkStore {
  readonly files: StoreFiles;
  readonly tails: Pick<Tails, 'packs'>;
  newPack(): number;
}

export class BulkPacks {
  readonly #store: BulkStore;
  readonly #journal: Pick<Journal, 'broken' | 'breakDown'>;
  readonly #busy: Set<number> = new Set();

  constructor(store: BulkStore, journal: Pick<Journal, 'broken' | 'breakDown'>) {
    this.#store = store;
    this.#journal = journal;
  }

  /** Keeps puts away from a pack while `work` runs. Returns false, and does nothing, when a put is writing to it. */
  async withoutPuts(number: number, work: () => Promise<void>): Promise<boolean> {
    if (this.#busy.has(number)) return false;
    this.#busy.add(number);
    try {
      await work();
    } finally {
      this.#busy.delete(number);
    }
    return true;
  }

  async lease(): Promise<BulkLease> {
    if (this.#journal.broken !== undefined) throw this.#journal.broken;
    const { files, tails } = this.#store;
    const open = tails.packs.find(
      ({ bulk, number, length }) => bulk && length < PACK_BYTES && !this.#busy.has(number),
    );
    const pack = open?.number ?? this.#store.newPack();
    const path = files.pathOf(packFile(pack));
    this.#busy.add(pack);
    try {
      const file = await files.io.open(path, 'create');
      const lease = this.#leaseOf(file, pack, open?.length ?? 0);
      if (open === undefined) await this.#begin(lease);
      return lease;
    } catch (error) {
      this.#busy.delete(pack);
      throw toQuipuError(error, path);
    }
  }

  /** Removes a pack without its header: it would use room and a file handle for nothing. */
  async #begin(lease: BulkLease): Promise<void> {
    try {
      await lease.write(encodePackHeader(lease.pack, PackKind.bulk));
    } catch (error) {
      await lease.release();
      await removeUnnamed(this.#store.files, lease.pack).catch(() => undefined);
      throw error;
    }
  }

  #leaseOf(file: IoFile, pack: number, start: number): BulkLease {
    const { files } = this.#store;
    const path = files.pathOf(packFile(pack));
    let position = start;
    // The file's name may not be durable in the folder.
    let isNew = start < OPEN_FILE_HEADER_BYTES;
    return {
      pack,
      start,
      get position() {
        return position;
      },

      async write(bytes) {
        await withCodes(path, () => writeFully(file, bytes, position));
        position += bytes.length;
      },

      sync: async () => {
        try {
          await file.sync();
          if (isNew) await files.io.syncDir(files.pathOf(PACKS_FOLDER));
          isNew = false;
        } catch (error) {
          this.#journal.breakDown(error, path);
          throw unknownOutcome(error, path);
        }
      },

      release: async () => {
        this.#busy.delete(pack);
        await file.close();
      },
    };
  }
}

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
