// What one message may hold. docs/reference/wire.md, "Limits".

/** Of a frame, the 16 bytes of its header not counted. */
export const FRAME_PAYLOAD_MAX: number = 64 * 1024 * 1024;
/** Of a frame on a connection that has yet to say who it is. */
export const FRAME_PAYLOAD_MAX_UNKNOWN: number = 64 * 1024;
/** Of the raw payload of a turn, patch or blob: 4 KiB less than a frame, so that one always fits a page. */
export const RAW_BYTES_MAX: number = FRAME_PAYLOAD_MAX - 4096;
/** Of a type, an idempotency key and a client's tag. */
export const NAME_BYTES_MAX = 1024;
/** Of the JSON that a HELLO and its reply carry. */
export const META_BYTES_MAX = 16_384;
/** Of the detail of an error. */
export const DETAIL_BYTES_MAX = 1024;
export const BATCH_ITEMS_MAX = 1024;
/** Records that the call `engine.getMany` takes numbers of. */
export const MANY_RECORDS_MAX = 1000;
/** Of contexts fewer: what users say of one may take 64 KiB. */
export const MANY_CONTEXTS_MAX = 100;
/** Of the name of a method. */
export const METHOD_BYTES_MAX = 128;
/** Of the JSON of a call. Bytes travel beside it, so only text gets near. */
export const CALL_JSON_BYTES_MAX: number = 32 * 1024 * 1024;
/** Levels of arrays and objects in that JSON, those of tags included. */
export const CALL_DEPTH_MAX = 64;
/** Values in that JSON: each takes many times its bytes once parsed. */
export const CALL_VALUES_MAX = 1_000_000;
/** Byte arrays beside it. */
export const CALL_BLOBS_MAX = 65_536;
