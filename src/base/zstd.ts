/** One implementation of zstd. Each implementation reads the output of every other. */
export interface Zstd {
  compress(bytes: Uint8Array): Uint8Array;
  /**
   * Yields at most `rawLength` bytes, in `into` where the implementation can do that. Throws on damaged input or when
   * there would be more.
   */
  decompress(bytes: Uint8Array, rawLength: number, into?: Uint8Array): Uint8Array;
}

/** The fastest of the regular levels, because every append compresses. */
export const ZSTD_LEVEL = 1;
