import type { ReadableStream } from 'node:stream/web';
import type { Hash } from '../base/brand.ts';
import type { EraseOptions } from '../context/contexts.ts';
import type { BlobNeed, EraseReport } from '../engine/upkeep.ts';

export interface BlobInfo {
  readonly hash: Hash;
  /** Present when it was asked for on `put`. */
  readonly sha256?: string;
  readonly size: number;
  /** Bytes it takes in the store by itself. */
  readonly storedSize: number;
  /** True when the same bytes were in the store before. */
  readonly existed: boolean;
}

export interface BlobDetails {
  readonly hash: Hash;
  readonly size: number;
  /** Bytes it takes in the store by itself. */
  readonly storedSize: number;
  /** How many chunks it is stored as; 0 when it is one record. */
  readonly chunks: number;
}

/** Bytes from `start` (default 0) up to `end` (exclusive, default the end). */
export interface ByteRange {
  readonly start?: number;
  readonly end?: number;
}

/**
 * Immutable bytes by content. A reference is the BLAKE3 hash as 64 hex digits, `b3:<hash>`, or
 * `blob:sha256:<64 hex digits>` for a blob that was put with its SHA-256.
 */
export interface Blobs {
  /**
   * Durable when it resolves. An iterable may be larger than memory. A blob that nothing refers to
   * goes with the next collection of garbage after the grace period.
   */
  put(
    source: Uint8Array | AsyncIterable<Uint8Array>,
    options?: { readonly sha256?: boolean },
  ): Promise<BlobInfo>;
  get(ref: string): Promise<Uint8Array | undefined>;
  has(ref: string): Promise<boolean>;
  stat(ref: string): Promise<BlobDetails | undefined>;
  /** Bounded memory for large blobs. Fails with NOT_FOUND when read, if the blob is missing. */
  stream(ref: string, range?: ByteRange): ReadableStream<Uint8Array>;
  /**
   * The blob as a file called by its SHA-256, for programs that want a path. Made when it is not there, and never
   * changed; UNSUPPORTED for a store on a server.
   */
  path(ref: string): Promise<string>;
  /**
   * Removes the bytes from the store for good. When turns use them, or threads need them, it lists those and does
   * nothing, unless told `everywhere`: then each of the turns gets a tombstone with the reason.
   */
  erase(ref: string, options: BlobEraseOptions): Promise<EraseReport>;
}

export interface BlobEraseOptions extends EraseOptions {
  /** Needs that do not count: who had them has looked for itself, and lets the bytes go. */
  readonly letGo?: readonly BlobNeed[];
}
