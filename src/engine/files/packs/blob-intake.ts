import type { Hash } from '../../../base/brand.ts';
import { hashBytes, sha256Hex } from '../../../base/hash.ts';
import { COMPRESS_MIN_BYTES, prepareBlob, type PreparedBlob } from '../../../format/blob-record.ts';
import { LARGE_BLOB_BYTES } from '../../../format/chunker.ts';
import type { Batch, BlobPut, TurnDelta } from '../../batch.ts';
import type { BlobSource } from '../../engine.ts';
import type { BulkExtent, PreparedBatch } from '../../plan/prepared-batch.ts';
import type { CompressJob, Compressor } from '../compress/compressor.ts';
import { type BulkLease, type StoredSource, storeSource } from './bulk-packs.ts';

/** A batch that is ready to be committed. It must be released after the commit succeeds or fails. */
export interface Prepared {
  readonly batch: PreparedBatch;
  /** The compression jobs of its blobs that are not finished. */
  readonly jobs: readonly CompressJob[];
  release(): Promise<void> | undefined;
}

export interface PreparedSource extends Prepared {
  readonly hash: Hash;
  readonly sha256: string | undefined;
}

interface IntakeStore {
  readonly hasBlob: (hash: Hash) => boolean;
  readonly lease: () => Promise<BulkLease>;
  /** The number of commits in progress. */
  readonly underWay: () => number;
}

/** With fewer commits in progress, handing a blob to another thread costs more than it saves. */
const CROWD = 4;

/** The work before a commit, outside of any queue: compressing, cutting, writing large blobs. */
export class BlobIntake {
  readonly #store: IntakeStore;
  readonly #held: HeldBlobs;
  readonly #compressor: Compressor;

  constructor(store: IntakeStore, held: HeldBlobs, compressor: Compressor) {
    this.#store = store;
    this.#held = held;
    this.#compressor = compressor;
  }

  /**
   * Prepares a batch of small blobs at once, so that commits keep the order in which they were sent. A batch with a
   * large blob joins the queue when that blob is written.
   */
  prepareBatch(batch: Batch): Prepared | Promise<Prepared> {
    const { blobs = [], deltas } = batch;
    // A batch waits for its group, and the caller may reuse its buffers meanwhile.
    const own = deltas === undefined ? batch : { ...batch, deltas: deltas.map(copyDelta) };
    if (blobs.some((blob) => blob.bytes.length >= LARGE_BLOB_BYTES)) {
      return this.#prepareAll(own, blobs);
    }
    const crowded = this.#store.underWay() >= CROWD;
    const jobs: CompressJob[] = [];
    const prepared = blobs.map((blob) =>
      crowded && blob.zstd === undefined ? this.#handOver(blob, jobs) : prepareBlob(blob),
    );
    const release = (): undefined => {
      for (const job of jobs) job.release();
    };
    return { batch: { changes: own, blobs: prepared, ...NO_CHUNKS }, jobs, release };
  }

  /** Prepares a blob while a group waits for it, so no other thread is asked. */
  prepareAlone(blob: BlobPut): Promise<Prepared> {
    return this.#prepareAll({}, [blob]);
  }

  #handOver(blob: BlobPut, jobs: CompressJob[]): PreparedBlob {
    const { hash, bytes, sha256 } = blob;
    const job = bytes.length < COMPRESS_MIN_BYTES ? undefined : this.#compressor.send(bytes);
    if (job === undefined) return prepareBlob(blob);
    jobs.push(job);
    return { hash, compressed: job, sha256 };
  }

  async #prepareAll(own: Batch, blobs: readonly BlobPut[]): Promise<Prepared> {
    const lists: PreparedBlob[] = [];
    const extents: BulkExtent[] = [];
    const relies: Hash[] = [];
    const releases: (() => Promise<void>)[] = [];
    const release = async (): Promise<void> => {
      for (const one of releases) await one();
    };
    try {
      for (const blob of blobs) {
        if (blob.bytes.length < LARGE_BLOB_BYTES) {
          lists.push(prepareBlob(blob));
          continue;
        }
        const stored = await this.#storeLarge(blob);
        lists.push({ ...stored.list, sha256: blob.sha256 });
        extents.push(stored.extent);
        relies.push(...stored.relies);
        releases.push(stored.release);
      }
      return { batch: { changes: own, blobs: lists, extents, relies }, jobs: [], release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  async prepareSource({ chunks, sha256: wanted = false }: BlobSource): Promise<PreparedSource> {
    const source = await this.#read(chunks, wanted);
    if (source.kind === 'large') {
      const { list, extent, relies, release } = source;
      const { hash, sha256 } = list;
      const batch = { changes: {}, blobs: [list], extents: [extent], relies };
      return { batch, jobs: [], release, hash, sha256 };
    }
    const { bytes } = source;
    const hash = hashBytes(bytes);
    const sha256 = wanted ? sha256Hex(bytes) : undefined;
    const blob = prepareBlob({ hash, bytes, ...(sha256 === undefined ? {} : { sha256 }) });
    const batch = { changes: {}, blobs: [blob], ...NO_CHUNKS };
    return { batch, jobs: [], release: nothing, hash, sha256 };
  }

  async #storeLarge(blob: BlobPut): Promise<LargeSource> {
    const source = await this.#read(once(blob.bytes), false);
    if (source.kind === 'large') return source;
    throw new Error(`a blob of ${blob.bytes.length} bytes did not count as large`);
  }

  /** Existing chunks are held: a collection must not take them before the commit. */
  async #read(
    chunks: AsyncIterable<Uint8Array>,
    wantSha256: boolean,
  ): Promise<LargeSource | SmallSource> {
    const hold = this.#held.start();
    const hasBlob = (hash: Hash): boolean => {
      const found = this.#store.hasBlob(hash);
      if (found) hold.hashes.add(hash);
      return found;
    };
    try {
      const source = await storeSource({ hasBlob, lease: this.#store.lease }, chunks, wantSha256);
      if (source.kind === 'small') {
        hold.end();
        return source;
      }
      const release = async (): Promise<void> => {
        hold.end();
        await source.lease.release();
      };
      return { ...source, relies: [...hold.hashes], release };
    } catch (error) {
      hold.end();
      throw error;
    }
  }
}

type SmallSource = StoredSource & { kind: 'small' };
type LargeSource = StoredSource & { kind: 'large' } & {
  readonly relies: readonly Hash[];
  readonly release: () => Promise<void>;
};

const NO_CHUNKS = { extents: [], relies: [] } as const;

function nothing(): undefined {
  // A small blob holds nothing outside its batch.
}

function copyDelta(delta: TurnDelta): TurnDelta {
  return { ...delta, bytes: new Uint8Array(delta.bytes) };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Blobs that unfinished puts rely on, before any commit says so. */
export class HeldBlobs {
  readonly #holds: Set<ReadonlySet<Hash>> = new Set();

  /** Holds what is in `hashes`, until `end` is called. */
  start(): { readonly hashes: Set<Hash>; readonly end: () => void } {
    const hashes = new Set<Hash>();
    this.#holds.add(hashes);
    return { hashes, end: () => void this.#holds.delete(hashes) };
  }

  *hashes(): Generator<Hash> {
    for (const hashes of this.#holds) yield* hashes;
  }

  has(hash: Hash): boolean {
    for (const hashes of this.#holds) if (hashes.has(hash)) return true;
    return false;
  }
}
