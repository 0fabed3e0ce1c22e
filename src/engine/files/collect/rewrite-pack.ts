import type { Hash } from '../../../base/brand.ts';
import { isQuipuError } from '../../../base/errors.ts';
import { BLOB_OVERHEAD_BYTES, BlobCodec, encodeBlobRecord } from '../../../format/blob-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { BulkLease } from '../blobs/bulk-packs.ts';
import { corrupt } from '../io-error.ts';
import { packFile } from '../names.ts';
import { closePack, PACK_BYTES } from '../plan/encode-packs.ts';
import type { ChunkPlace } from '../plan/prepared-blob.ts';
import { walkPack } from '../recovery/rebuild-packs.ts';
import type { PackItem } from '../scan-pack.ts';
import type { Writer } from '../writer.ts';

// Leaving a pack behind: the living are copied to a bulk pack, in slices that each become durable and
// known on their own, and then one frame removes the old pack. Until that frame both copies are good,
// so readers never miss anything; a crash in between leaves a copy too many and nothing else.

/** Small enough that taking a slice into the index delays commits by a few milliseconds at most. */
const SLICE_BLOBS = 1024;
const SLICE_BYTES = 4 * 1024 * 1024;

export interface RewriteOptions {
  readonly isLive: (hash: Hash, offset: number) => boolean;
  /** Blobs that commits relied on; emptied here when the pack is begun. */
  readonly recent: Set<Hash>;
}

type BlobItem = PackItem & { kind: 'blob' };

export async function rewritePack(
  writer: Writer,
  pack: number,
  options: RewriteOptions,
): Promise<{ removedBlobs: number; freedBytes: number }> {
  const rewrite = new Rewrite(writer, pack);
  options.recent.clear();
  try {
    const size = await writer.core.files.size(packFile(pack));
    await walkPack(writer.core.files, pack, size, (item) => rewrite.take(item, options));
    await rewrite.flush();
    // Replaying a frame that names an extent looks for it in the pack, which must be there then: so no
    // such frame may be among those that a crash replays together with the removal.
    await writer.checkpoint();
    const report = await writer.exclusively(() => rewrite.finish(options.recent, size));
    await rewrite.release();
    return report;
  } catch (error) {
    await rewrite.giveUp(error).catch(() => undefined);
    // What went wrong first is what the caller must hear of.
    throw error;
  }
}

class Rewrite {
  readonly #writer: Writer;
  readonly #pack: number;
  /** Copied, or dead for another reason than that nobody needs it: there is another place. */
  readonly #elsewhere: Set<Hash> = new Set();
  readonly #dead: Hash[] = [];
  #lease: BulkLease | undefined;
  #slice: BlobItem[] = [];
  #sliceBytes = 0;
  #copiedBytes = 0;
  #records = 0;
  #rawBytes = 0;
  #storedBytes = 0;

  constructor(writer: Writer, pack: number) {
    this.#writer = writer;
    this.#pack = pack;
  }

  async take(item: PackItem, { isLive }: RewriteOptions): Promise<void> {
    if (item.kind === 'bad') {
      throw corrupt(
        packFile(this.#pack),
        item.offset,
        'the blob record here is damaged; run "quipu verify"',
      );
    }
    // An erased record is nobody's, also when the same blob was put again after it.
    if (item.kind !== 'blob' || item.codec === BlobCodec.erased) return;
    const place = this.#writer.core.index.findBlob(item.hash);
    // Not in the index: dead in an earlier collection.
    if (place === undefined) return;
    this.#count(item);
    if (place.pack !== this.#pack || place.offset !== item.offset) {
      this.#elsewhere.add(item.hash);
      return;
    }
    if (!isLive(item.hash, item.offset)) {
      this.#dead.push(item.hash);
      return;
    }
    this.#slice.push(item);
    this.#sliceBytes += item.bytes;
    if (this.#slice.length >= SLICE_BLOBS || this.#sliceBytes >= SLICE_BYTES) await this.flush();
  }

  /** Copies what was gathered, makes it durable, and lets the index know. */
  async flush(): Promise<void> {
    const copied = await this.#copy(this.#slice);
    this.#slice = [];
    this.#sliceBytes = 0;
    if (copied !== undefined) await this.#writer.exclusively(copied);
  }

  /** Between two commits: whoever came to rely on a blob meanwhile keeps it, then the pack goes. */
  async finish(
    recent: ReadonlySet<Hash>,
    size: number,
  ): Promise<{ removedBlobs: number; freedBytes: number }> {
    const { core, held } = this.#writer;
    const late = this.#dead.filter((hash) => recent.has(hash) || held.has(hash));
    await (
      await this.#copy(await this.#readAll(new Set(late)))
    )?.();
    const gone = this.#dead.filter((hash) => !this.#elsewhere.has(hash));
    const path = packFile(this.#pack);
    await this.#writer.storeWrites([{ kind: 'remove', path }], () => {
      core.index.dropPack(this.#pack);
      core.index.count({
        blobs: -this.#records,
        blobBytes: -this.#rawBytes,
        storedBytes: -this.#storedBytes,
      });
      core.blobs.forget(gone);
    });
    return { removedBlobs: gone.length, freedBytes: size - this.#copiedBytes };
  }

  async release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.release();
  }

  /** A copy that no frame names takes room for nothing, which may be just what was lacking. */
  async giveUp(reason: unknown): Promise<void> {
    const pack = this.#lease?.pack;
    await this.release();
    if (pack === undefined) return;
    const { files, tails } = this.#writer.core;
    // When nobody knows whether the last frame is there, it may be the one that names the pack.
    const unknown = isQuipuError(reason, 'IO') && reason.data.outcome === 'unknown';
    if (unknown || tails.packs.some(({ number }) => number === pack)) return;
    await files.io.remove(files.pathOf(packFile(pack)));
  }

  #count(item: BlobItem): void {
    this.#records += 1;
    this.#rawBytes += item.rawLength;
    this.#storedBytes += BLOB_OVERHEAD_BYTES + item.storedLength;
  }

  /** Writes copies and syncs them; the result makes them count, and must run between two commits. */
  async #copy(items: readonly BlobItem[]): Promise<(() => Promise<void>) | undefined> {
    if (items.length === 0) return undefined;
    this.#lease ??= await this.#writer.bulk.lease();
    const lease = this.#lease;
    const places: ChunkPlace[] = [];
    const pieces: Uint8Array[] = [];
    const first = lease.position;
    let offset = first;
    for (const { hash, codec, rawLength, storedLength, stored } of items) {
      const record = encodeBlobRecord({ codec, rawLength, hash, stored });
      places.push({ hash, codec, rawLength, storedLength, offset });
      pieces.push(record);
      offset += record.length;
      this.#elsewhere.add(hash);
    }
    await lease.write(Buffer.concat(pieces));
    await lease.sync();
    this.#copiedBytes += offset - first;
    return () => this.#makeCount(places, offset);
  }

  async #makeCount(places: readonly ChunkPlace[], end: number): Promise<void> {
    const { core } = this.#writer;
    const lease = this.#lease;
    if (lease === undefined) return;
    const { pack } = lease;
    const known = core.tails.packs.find((open) => open.number === pack)?.length ?? 0;
    const path = packFile(pack);
    const writes: JournalWrite[] = [{ kind: 'extent', path, offset: known, length: end - known }];
    if (end >= PACK_BYTES) writes.push(closePack({ number: pack, length: end, records: 0 }));
    await this.#writer.storeWrites(writes, () => {
      for (const place of places) {
        core.index.addBlob({ ...place, pack });
        const storedBytes = BLOB_OVERHEAD_BYTES + place.storedLength;
        core.index.count({ blobs: 1, blobBytes: place.rawLength, storedBytes });
      }
    });
    if (end < PACK_BYTES) return;
    this.#lease = undefined;
    await lease.release();
  }

  async #readAll(hashes: ReadonlySet<Hash>): Promise<BlobItem[]> {
    const found: BlobItem[] = [];
    if (hashes.size === 0) return found;
    const { files } = this.#writer.core;
    await walkPack(files, this.#pack, await files.size(packFile(this.#pack)), (item) => {
      if (item.kind !== 'blob' || item.codec === BlobCodec.erased) return;
      if (hashes.has(item.hash)) found.push(item);
    });
    return found;
  }
}
