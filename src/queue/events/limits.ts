// Bounds of a queue. docs/reference/queue.md lists them for people.

/** Bytes of one event's content in UTF-8. */
export const CONTENT_BYTES_MAX: number = 8 << 20;
export const SOURCE_BYTES_MAX = 1024;
export const HANDLER_BYTES_MAX: number = 16 * 1024;
export const CONSUMER_CHARS_MAX = 128;
/** The name of a file has at most 255 bytes, and a suffix follows this name. */
export const CONSUMER_BYTES_MAX = 200;
/** A batch is one transaction and stays in memory until it is written. */
export const BATCH_EVENTS_MAX = 1_000_000;
export const BATCH_BYTES_MAX: number = 256 << 20;

export const LIMIT_DEFAULT = 100;
export const LIMIT_MAX = 100_000;
/** A page ends with the event that takes it past this size, whatever its limit. */
export const PAGE_BYTES_MAX: number = 64 << 20;
/** Lag is counted up to this number. */
export const LAG_MAX = 10_000;
/** A file with more lines than this is put aside before the next line is written. */
export const FILE_LINES_MAX = 10_000;
