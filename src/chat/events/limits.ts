// Limits of requests. They keep one request from costing the others their memory.

/** A payload with more bytes than this goes to a blob. */
export const LINE_PAYLOAD_BYTES = 32_768;
export const PAYLOAD_BYTES_MAX = 33_554_432;
export const BATCH_EVENTS_MAX = 10_000;
export const BATCH_BYTES_MAX = 67_108_864;
export const PAGE_EVENTS_MAX = 10_000;
export const PAGE_MESSAGES_MAX = 1000;
export const PAGE_MESSAGES_DEFAULT = 50;
/** Pages of messages are cut at this size, too: texts are long at times. */
export const PAGE_BYTES_MAX = 8_388_608;
/** The number of messages that one search looks at; the next search goes on from there. */
export const SEARCH_MESSAGES_MAX = 200_000;
export const LIST_LIMIT_MAX = 1000;
export const LIST_LIMIT_DEFAULT = 50;
export const TITLE_CHARS_MAX = 1024;
export const ID_CHARS_MAX = 128;
export const ROLE_CHARS_MAX = 64;
export const TYPE_CHARS_MAX = 128;
/** Types of events that programs may register in a store. */
export const TYPES_MAX = 1000;
export const NAME_CHARS_MAX = 255;
export const REASON_BYTES_MAX = 4096;
export const QUESTIONS_MAX = 100;
export const OPTIONS_MAX = 100;
export const BRANCHES_MAX = 10_000;
/** Batches of questions that a chat may have. */
export const BATCHES_MAX = 10_000;
/** The number of messages, and of batches of questions, that a chat remembers as redacted. More must be erased. */
export const HIDDEN_MAX = 10_000;
export const PROBLEMS_LISTED_MAX = 100;
/** A stream of text makes at most one commit in this time. */
export const STREAM_GATHER_MS = 20;
/** The time in a chat's metadata may lag behind its last event by this much. */
export const UPDATED_LAG_MS = 60_000;
