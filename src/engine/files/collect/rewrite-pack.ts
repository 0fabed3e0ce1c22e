import type { Hash } from '../../../base/brand.ts';
import { isQuipuError } from '../../../base/errors.ts';
import { BLOB_HEADER_BYTES, BLOB_OVERHEAD_BYTES, BlobCodec } from '../../../format/blob-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { ChunkPlace } from '../../plan/prepared-batch.ts';
import type { SweepPlan } from '../../upkeep.ts';
import type { Writer } from '../commit/writer.ts';
import { corrupt } from '../disk/io-error.ts';
import type { PlaceRef } from '../index/shelf.ts';
import type { BulkLease } from '../packs/bulk-packs.ts';
import {
  PACK_BYTES,
  closePack,
  packFile,
  type PackItem,
  packSize,
  removeUnnamed,
  scanPack,
} from '../packs/pack-file.ts';
import { eachPackItem } from '../packs/walk-pack.ts';
import type { GiveWay } from './give-way.ts';
import type { PackPlaces } from './pack-places.ts';

// Rewriting a pack: living records are copied to a bulk pack, in slices that each become durable and known on their
// own. Then one frame removes the old pack. Until that frame both copies are good, so readers never miss anything.
// A crash in between leaves only a superfluous copy.

/** Small enough that indexing a slice delays commits by a few milliseconds at most. */
const SLICE_BLOBS = 1024;

const SLICE_BYTES = 2 * 1024 * 1024;

export interface RewriteOptions {
  readonly plan: Pick<SweepPlan, 'settle' | 'changes'>;
  readonly isKept: (place: PlaceRef) => boolean;
  /** Blobs that commits relied on. The set is emptied when the pack is begun. */
  readonly recent: Set<Hash>;
  /** The places that the index had in the pack a while ago. Every other record is looked up. */
  readonly places: PackPlaces;
  readonly way: GiveWay;
}

export interface Rewritten {
  readonly removedBlobs: number;
  readonly freedBytes: number;
}

export async function rewritePack(
  writer: Writer,
  pack: number,
  options: RewriteOptions,
): Promise<Rewritten> {
  const rewrite = new Rewrite(writer, pack, options);
  options.recent.clear();
  try {
    const { files } = writer.core;
    const length = await packSize(files, pack);
    await eachPackItem(files, { number: pack, length }, (item) => rewrite.take(item));
    await rewrite.keepLate();
    // Replaying a frame that names an extent reads the extent from the pack, which must exist then. So no such
    // frame may be among the frames that a crash replays together with the removal.
    await writer.checkpoint();
    const report = await writer.exclusively(() =>
      rewrite.finish(length).finally(() => {
        writer.core.leaving = undefined;
      }),
    );
    await rewrite.copy.release();
    return report;
  } catch (error) {
    await rewrite.copy.giveUp(error).catch(() => undefined);
    // The caller must get the first error.
    throw error;
  }
}

class Rewrite {
  readonly copy: LivingCopy;
  readonly #writer: Writer;
  readonly #pack: number;
  readonly #options: RewriteOptions;
  /** Blobs that commits and puts rely on, and that were already searched among the dead. */
  readonly #asked: Set<Hash> = new Set();
  /** The plan's change count when all dead blobs were last asked for. */
  #changes: number | undefined;
  #dead = 0;
  #records = 0;
  #rawBytes = 0;
  #storedBytes = 0;

  constructor(writer: Writer, pack: number, options: RewriteOptions) {
    this.copy = new LivingCopy(writer, options.way);
    this.#writer = writer;
    this.#pack = pack;
    this.#options = options;
    this.#changes = options.plan.changes?.();
  }

  take(item: PackItem): Promise<void> | undefined {
    if (item.kind === 'bad') {
      throw corrupt(
        packFile(this.#pack),
        item.offset,
        'the blob record here is damaged; run "quipu verify"',
      );
    }
    // No blob uses an erased record, even when the same blob was put again after it.
    if (item.kind === 'blob' && item.codec !== BlobCodec.erased) this.#takeBlob(item);
    return this.copy.isFull || this.#options.way.isDue ? this.#breathe() : undefined;
  }

  async #breathe(): Promise<void> {
    if (this.copy.isFull) await this.copy.store();
    await this.#options.way.breathe();
  }

  #takeBlob(item: BlobItem): void {
    const { isKept, places } = this.#options;
    const { hash, offset } = item;
    const pack = this.#pack;
    const only = places.isOnly(offset);
    const place = only ? undefined : this.#writer.core.index.findBlob(hash);
    // The blob is not in the index: it was dead in an earlier collection.
    if (!only && place === undefined) return;
    this.#records += 1;
    this.#rawBytes += item.rawLength;
    this.#storedBytes += BLOB_OVERHEAD_BYTES + item.storedLength;
    const isHere = only || (place?.pack === pack && place.offset === offset);
    // The blob is found at another place, which is as good.
    if (!isHere) return;
    if (isKept({ hash, pack, offset })) {
      this.copy.add(item);
      return;
    }
    places.addDead(offset);
    this.#dead += 1;
  }

  /** Does most of the work of `finish` while commits go on. They wait only for the rest. */
  async keepLate(): Promise<void> {
    const { plan, way } = this.#options;
    const changes = plan.changes?.();
    if (changes !== this.#changes) await this.#askAgain();
    this.#changes = changes;
    for (const hash of this.#newlyNeeded()) {
      await this.#keepIfDead(hash);
      if (this.copy.isFull || way.isDue) await this.#breathe();
    }
    await this.copy.store();
  }

  /** Runs between two commits: keeps everything that is needed by now, then removes the pack. */
  async finish(length: number): Promise<Rewritten> {
    const { core } = this.#writer;
    const { plan } = this.#options;
    await plan.settle?.();
    const changes = plan.changes?.();
    if (changes === undefined || changes !== this.#changes) await this.#askAgain();
    // Puts find chunks while this waits. For them, the last look and the removal of the pack are one step.
    while (this.#isMoreNeeded) {
      for (const hash of this.#newlyNeeded()) await this.#keepIfDead(hash);
    }
    core.leaving = this.#pack;
    await this.copy.storeNow();
    await this.#writer.storeWrites([{ kind: 'remove', path: packFile(this.#pack) }], () => {
      core.index.dropPack(this.#pack);
      core.index.count({
        blobs: -this.#records,
        blobBytes: -this.#rawBytes,
        storedBytes: -this.#storedBytes,
      });
    });
    // The index is flushed at once. So after a later kill the next opening need not find out what the pack held.
    core.index.flushUnmerged();
    return { removedBlobs: this.#dead, freedBytes: length - this.copy.storedBytes };
  }

  /** Reads the pack once more for the hashes of dead blobs: keeping all of them would take much memory. */
  async #askAgain(): Promise<void> {
    if (this.#dead === 0) return;
    const { files } = this.#writer.core;
    const { isKept, places } = this.#options;
    const pack = this.#pack;
    const length = await packSize(files, pack);
    await eachPackItem(files, { number: pack, length }, (item) => {
      if (item.kind !== 'blob' || !places.isDead(item.offset)) return;
      if (isKept({ hash: item.hash, pack, offset: item.offset })) this.#revive(item);
    });
  }

  *#newlyNeeded(): Generator<Hash> {
    for (const hash of this.#needed()) {
      if (this.#asked.has(hash)) continue;
      this.#asked.add(hash);
      yield hash;
    }
  }

  get #isMoreNeeded(): boolean {
    for (const hash of this.#needed()) if (!this.#asked.has(hash)) return true;
    return false;
  }

  *#needed(): Generator<Hash> {
    yield* this.#options.recent;
    yield* this.#writer.held.hashes();
  }

  /** Keeps a blob that was dead when its record was passed, and is needed now. */
  async #keepIfDead(hash: Hash): Promise<void> {
    const { core } = this.#writer;
    const place = core.index.findBlob(hash);
    if (place?.pack !== this.#pack || !this.#options.places.isDead(place.offset)) return;
    const path = packFile(this.#pack);
    const { offset } = place;
    const bytes = await core.files.read(path, offset, BLOB_OVERHEAD_BYTES + place.storedLength);
    const [item] = scanPack(bytes, offset);
    if (item?.kind !== 'blob') throw corrupt(path, offset, 'the blob record here is damaged');
    this.#revive(item);
  }

  #revive(item: BlobItem): void {
    this.#options.places.removeDead(item.offset);
    this.#dead -= 1;
    this.copy.add(item);
  }
}

type BlobItem = PackItem & { kind: 'blob' };

/** Copies records to a bulk pack, in slices. Each slice becomes durable and known on its own. */
class LivingCopy {
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
    this.#places.push({ hash, codec, rawLength, storedLength, offset });
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
    do await this.#way.breathe();
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
    await removeUnnamed(files, pack);
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
