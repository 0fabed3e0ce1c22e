/** One implementation of zstd. Any of them reads what any other wrote. */
export interface Zstd {
  compress(bytes: Uint8Array): Uint8Array;
  /** Yields `rawLength` bytes at most; throws on damaged input or when there would be more. */
  decompress(bytes: Uint8Array, rawLength: number): Uint8Array;
}

/** The fastest of the regular levels: it is on the way of every append. */
export const ZSTD_LEVEL = 1;
