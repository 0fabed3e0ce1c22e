// Limits of one message. docs/reference/wire.md, "Limits".

/** Bytes of a frame, without the 16 bytes of its header. */
export const FRAME_PAYLOAD_MAX: number = 64 * 1024 * 1024;
/** Bytes of a frame on a connection that is not authenticated yet. */
export const FRAME_PAYLOAD_MAX_UNKNOWN: number = 64 * 1024;
/** Bytes of the raw payload of a turn, patch or blob: 4 KiB less than a frame, so that one always fits a page. */
export const RAW_BYTES_MAX: number = FRAME_PAYLOAD_MAX - 4096;
/** Bytes of a type, an idempotency key and a client's tag. */
export const NAME_BYTES_MAX = 1024;
/** Bytes of the JSON that a HELLO and its reply carry. */
export const META_BYTES_MAX = 16_384;
/** Bytes of the detail of an error. */
export const DETAIL_BYTES_MAX = 1024;
export const BATCH_ITEMS_MAX = 1024;
/** The number of records that one call of `engine.getMany` may name. */
export const MANY_RECORDS_MAX = 1000;
/** The number of contexts that such a call may name. It is lower, because the details of a context may take 64 KiB. */
export const MANY_CONTEXTS_MAX = 100;
/** Bytes of the name of a method. */
export const METHOD_BYTES_MAX = 128;
/** Bytes of the JSON of a call. Byte arrays travel beside it, so only text gets near this limit. */
export const CALL_JSON_BYTES_MAX: number = 32 * 1024 * 1024;
/** Levels of arrays and objects in the JSON of a call, including those of tags. */
export const CALL_DEPTH_MAX = 64;
/** Values in the JSON of a call: each takes many times its bytes once parsed. */
export const CALL_VALUES_MAX = 1_000_000;
/** Byte arrays beside the JSON of a call. */
export const CALL_BLOBS_MAX = 65_536;
