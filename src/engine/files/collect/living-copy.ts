import { isQuipuError } from '../../../base/errors.ts';
import { BLOB_HEADER_BYTES, BLOB_OVERHEAD_BYTES } from '../../../format/blob-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { BulkLease } from '../packs/bulk-packs.ts';
import { packFile, type PackItem } from '../packs/pack-file.ts';
import { closePack, PACK_BYTES } from '../packs/encode-packs.ts';
import type { ChunkPlace } from '../../plan/prepared-batch.ts';
import type { Writer } from '../commit/writer.ts';
import type { GiveWay } from './give-way.ts';

/** Small enough that indexing a slice delays commits by a few milliseconds at most. */
const SLICE_BLOBS = 1024;
const SLICE_BYTES = 2 * 1024 * 1024;

export type BlobItem = PackItem & { kind: 'blob' };

/** Copies records to a bulk pack, in slices. Each slice becomes durable and known on its own. */
export class LivingCopy {
  readonly #writer: Writer;
  readonly #way: GiveWay;
  #lease: BulkLease | undefined;
  #records: Uint8Array[] = [];
  #places: ChunkPlace[] = [];
  #sliceBytes = 0;
  #storedBytes = 0;

  constructor(writer: Writer, way: GiveWay) {
    this.#writer = writer;
    this.#way = way;
  }

  /** The bytes that the copies take so far. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  /** True when the slice is large enough to be stored. */
  get isFull(): boolean {
    return this.#places.length >= SLICE_BLOBS || this.#sliceBytes >= SLICE_BYTES;
  }

  /** Takes the bytes of the record as they are: the caller has checked them. */
  add({ hash, codec, rawLength, storedLength, stored }: BlobItem): void {
    const offset = this.#sliceBytes;
    this.#places.push({
      hash,
      codec,
      rawLength,
      storedLength,
      offset,
    });
    const start = stored.byteOffset - BLOB_HEADER_BYTES;
    const length = BLOB_OVERHEAD_BYTES + storedLength;
    // The bytes are copied, because the read buffer is reused.
    this.#records.push(Buffer.from(new Uint8Array(stored.buffer, start, length)));
    this.#sliceBytes += length;
  }

  /** Makes the slice durable. Then, between two commits, makes it known. */
  async store(): Promise<void> {
    const makeKnown = await this.#write();
    if (makeKnown === undefined) return;
    await this.#writer.exclusively(makeKnown);
    // By itself the index would wait for more entries, and then take longer at a time.
    this.#writer.core.index.flushUnmerged();
    do await this.#way.rest();
    while (this.#writer.core.index.merge());
  }

  /** Like `store`, for a caller that is already between two commits. */
  async storeNow(): Promise<void> {
    const makeKnown = await this.#write();
    await makeKnown?.();
  }

  async release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.release();
  }

  /** Removes a copy that no frame names: it takes up room, which may be just what is lacking. */
  async giveUp(reason: unknown): Promise<void> {
    const pack = this.#lease?.pack;
    await this.release();
    if (pack === undefined) return;
    const { files, tails } = this.#writer.core;
    // When the outcome of the last frame is unknown, that frame may name the pack.
    const unknown = isQuipuError(reason, 'IO') && reason.data.outcome === 'unknown';
    if (unknown || tails.packs.some(({ number }) => number === pack)) return;
    await files.io.remove(files.pathOf(packFile(pack)));
  }

  /** Writes and syncs the slice. The returned function makes it count, and must run between two commits. */
  async #write(): Promise<(() => Promise<void>) | undefined> {
    if (this.#places.length === 0) return undefined;
    this.#lease ??= await this.#writer.bulk.lease();
    const lease = this.#lease;
    const bytes = Buffer.concat(this.#records);
    const start = lease.position;
    const places = this.#places.map((place) => ({ ...place, offset: start + place.offset }));
    this.#records = [];
    this.#places = [];
    this.#sliceBytes = 0;
    await lease.write(bytes);
    await lease.sync();
    this.#storedBytes += bytes.length;
    return () => this.#makeKnown(lease, places, start + bytes.length);
  }

  async #makeKnown(lease: BulkLease, places: readonly ChunkPlace[], end: number): Promise<void> {
    const { core } = this.#writer;
    const { pack } = lease;
    const known = core.tails.packs.find((open) => open.number === pack)?.length ?? 0;
    const path = packFile(pack);
    const writes: JournalWrite[] = [{ kind: 'extent', path, offset: known, length: end - known }];
    if (end >= PACK_BYTES) writes.push(closePack({ number: pack, length: end, records: 0 }));
    await this.#writer.storeWrites(writes, () => {
      let blobBytes = 0;
      let storedBytes = 0;
      for (const place of places) {
        core.index.addBlob({ ...place, pack });
        blobBytes += place.rawLength;
        storedBytes += BLOB_OVERHEAD_BYTES + place.storedLength;
      }
      core.index.count({ blobs: places.length, blobBytes, storedBytes });
    });
    if (end >= PACK_BYTES) await this.release();
  }
}
