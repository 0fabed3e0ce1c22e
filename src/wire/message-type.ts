import { invalid } from '../base/errors.ts';

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

/** Bits in the header of APPEND_TURN and APPEND_BATCH. */
export const AppendFlag = {
  /** The hash of a file-system root follows the key. In a batch each item says so itself. */
  HAS_FS_ROOT: 1,
  /** The named parent must be the head; 0: the context must be empty. */
  EXPECT_HEAD: 2,
  /** The turn starts open. */
  OPEN: 4,
  /** The reply holds the whole row of the turn, see `RowAck`. Not for turns that start open. */
  WANT_ROW: 8,
} as const;

/** Bits in the header of GET_LAST, GET_BEFORE and GET_RANGE_BY_DEPTH. */
export const PageFlag = {
  WANT_EXT: 4,
  WANT_OPEN: 8,
  HAS_AS_OF: 16,
  HAS_MAX_BYTES: 32,
} as const;

const FIRST_QUIPU_TYPE = MessageType.SUBSCRIBE;

const PAGE_FLAGS =
  PageFlag.WANT_EXT | PageFlag.WANT_OPEN | PageFlag.HAS_AS_OF | PageFlag.HAS_MAX_BYTES;

const KNOWN: ReadonlyMap<number, number> = new Map([
  [
    MessageType.APPEND_TURN,
    AppendFlag.HAS_FS_ROOT | AppendFlag.EXPECT_HEAD | AppendFlag.OPEN | AppendFlag.WANT_ROW,
  ],
  [MessageType.GET_LAST, PAGE_FLAGS],
  [MessageType.GET_BEFORE, PAGE_FLAGS],
  [MessageType.GET_RANGE_BY_DEPTH, PAGE_FLAGS],
  [MessageType.APPEND_BATCH, AppendFlag.EXPECT_HEAD],
]);

/**
 * The bits of a request that count. Message types of cxdb: a client that has not said it knows Quipu's extensions may
 * have anything in the other bits, so they are dropped. Quipu's own message types: other bits are INVALID.
 */
export function countingFlags(type: number, flags: number, knowsQuipu: boolean): number {
  const known = KNOWN.get(type) ?? 0;
  if (type >= FIRST_QUIPU_TYPE) {
    if ((flags & ~known) === 0) return flags;
    throw invalid('flags', `of message type ${type} has unknown bits: ${flags}`);
  }
  if (knowsQuipu) return flags & known;
  return type === MessageType.APPEND_TURN ? flags & AppendFlag.HAS_FS_ROOT : 0;
}
