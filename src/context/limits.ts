// Limits of requests. They keep one request from costing the others their memory.

/** 64 MiB less room for a record's header, so that a payload at the limit still fits 64 MiB on the wire. */
export const PAYLOAD_BYTES_MAX = 67_104_768;
export const PAGE_TURNS_MAX = 10_000;
export const PAGE_BYTES_DEFAULT = 67_108_864;
export const BATCH_TURNS_MAX = 10_000;
export const HEADS_MAX = 10_000;
export const LIST_LIMIT_DEFAULT = 50;
export const TYPE_BYTES_MAX = 1024;
export const VERSION_MAX = 0xffff_ffff;
export const NAME_BYTES_MAX = 512;
export const TITLE_CHARS_MAX = 1024;
export const KIND_CHARS_MAX = 128;
export const LABELS_MAX = 64;
export const LABEL_CHARS_MAX = 128;
export const META_BYTES_MAX = 65_536;
export const KEY_BYTES_MAX = 1024;
export const REASON_BYTES_MAX = 4096;
/** The number of payload bytes that a stream of turns holds at a time. */
export const STREAM_BYTES_DEFAULT = 8_388_608;
