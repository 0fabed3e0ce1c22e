import { invalid } from '../base/errors.ts';
import { MessageType } from './message-type.ts';

/** Bits in the header of APPEND_TURN and APPEND_BATCH. */
export const AppendFlag = {
  /** The hash of a file-system root follows the key. In a batch each item says so itself. */
  HAS_FS_ROOT: 1,
  /** The named parent must be the head; 0: the context must be empty. */
  EXPECT_HEAD: 2,
  /** The turn starts open. */
  OPEN: 4,
  /** The reply holds the whole row of the turn, see row-ack.ts. Not for turns that start open. */
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
