import type { ReadableStream } from 'node:stream/web';
import type { Hash } from '../base/brand.ts';
import type { Jsonable } from '../base/jsonable.ts';
import type { EraseOptions } from '../context/contexts.ts';
import type { BlobStat } from '../engine/rows.ts';
import type { BlobNeed, EraseReport } from '../engine/upkeep.ts';
import type { BlobStored } from '../engine/engine.ts';

/** A blob that was put. `sha256` is there when `put` was asked for it. */
export type BlobInfo = Omit<BlobStored, 'chunks'>;

export type BlobDetails = BlobStat;

/** Bytes from `start` (default 0) up to `end` (exclusive, default the end). */
export interface ByteRange {
  readonly start?: number;
  readonly end?: number;
}

export interface BlobListOptions {
  /** Only hashes that begin with these hex digits. */
  readonly prefix?: string;
  /** Default 50, at most 10,000. */
  readonly limit?: number;
  /** From the page before. */
  readonly cursor?: string;
}

export interface BlobPage {
  readonly items: readonly Hash[];
  /** Present when more may follow. */
  readonly cursor?: string;
}

/**
 * Immutable bytes by content. A reference is the BLAKE3 hash as 64 hex digits, `b3:<hash>`, or
 * `blob:sha256:<64 hex digits>` for a blob that was put with its SHA-256.
 */
export interface Blobs {
  /**
   * Durable when it resolves. An iterable may be larger than memory. The next garbage collection after the grace period
   * removes a blob that nothing refers to.
   */
  put(
    source: Uint8Array | AsyncIterable<Uint8Array>,
    options?: { readonly sha256?: boolean },
  ): Promise<BlobInfo>;
  get(ref: string): Promise<Uint8Array | undefined>;
  has(ref: string): Promise<boolean>;
  stat(ref: string): Promise<BlobDetails | undefined>;
  /**
   * Hashes in their order. A large blob in a folder is stored as chunks, which are blobs by themselves and listed, too.
   */
  list(options?: BlobListOptions): Promise<BlobPage>;
  /** Uses bounded memory for large blobs. Fails with NOT_FOUND when read, if the blob is missing. */
  stream(ref: string, range?: ByteRange): ReadableStream<Uint8Array>;
  /**
   * The blob as a file named by its SHA-256, for programs that want a path. The file is created when it does not exist,
   * and never changed. UNSUPPORTED for a store on a server.
   */
  path(ref: string): Promise<string>;
  /**
   * Removes the bytes from the store for good. When turns use the bytes, or threads need them, this lists those and
   * does nothing, unless `everywhere` is set: then each of the turns gets a tombstone with the reason.
   */
  erase(ref: string, options: BlobEraseOptions): Promise<Jsonable<EraseReport>>;
}

export interface BlobEraseOptions extends EraseOptions {
  /** Needs that do not count: their owners have checked for themselves, and let the bytes go. */
  readonly letGo?: readonly BlobNeed[];
}
