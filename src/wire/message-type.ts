/** The type of a frame. A reply has the type of its request, or ERROR. */
export const MessageType = {
  HELLO: 1,
  CTX_CREATE: 2,
  CTX_FORK: 3,
  GET_HEAD: 4,
  APPEND_TURN: 5,
  GET_LAST: 6,
  GET_BEFORE: 7,
  GET_RANGE_BY_DEPTH: 8,
  GET_BLOB: 9,
  ATTACH_FS: 10,
  PUT_BLOB: 11,
  SUBSCRIBE: 32,
  APPEND_BATCH: 33,
  APPEND_DELTA: 34,
  SEAL: 35,
  PATCH: 36,
  UNSUBSCRIBE: 37,
  CALL: 38,
  /** Only pushed: carries the pieces of a long answer to a CALL. */
  STREAM: 39,
  /** Never sent by a client. */
  ERROR: 255,
} as const;

/** The flag in the header of a frame that no request waits for. */
export const PUSHED = 1;
