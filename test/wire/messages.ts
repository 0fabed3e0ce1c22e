import * as blob from '../../src/wire/cxdb/messages.ts';
import * as head from '../../src/wire/cxdb/messages.ts';
import * as pages from '../../src/wire/cxdb/turns.ts';
import * as subscribe from '../../src/wire/cxdb/turns.ts';
import {
  appendTurnFlags,
  decodeAppendTurn,
  decodeRowAck,
  encodeAck,
  encodeAppendTurn,
  encodeRowAck,
} from '../../src/wire/append-turn.ts';
import type { Parts } from '../../src/wire/byte-codec.ts';
import {
  decodeCall,
  decodeCallReply,
  decodeStream,
  decodeUnsubscribe,
  encodeCall,
  encodeCallReply,
  encodeStream,
  encodeUnsubscribe,
} from '../../src/wire/call.ts';
import {
  decodeAppendBatch,
  encodeBatchAck,
  decodePatch,
  encodePatchReply,
  decodeAppendDelta,
  decodeSeal,
  encodeDeltaAck,
} from '../../src/wire/cxdb/messages.ts';
import { encodePage, encodePush } from '../../src/wire/cxdb/turns.ts';
import { decodeError, encodeError } from '../../src/wire/error-message.ts';
import {
  decodeHello,
  decodeHelloReply,
  encodeHello,
  encodeHelloReply,
} from '../../src/wire/hello.ts';
import { MessageType, PUSHED } from '../../src/wire/message-type.ts';
import {
  appendBatchFlags,
  decodeAck,
  decodeBatchAck,
  decodeDeltaAck,
  decodeGetBlobReply,
  decodeHead,
  decodePage,
  decodePatchReply,
  decodePush,
  decodePutBlobReply,
  encodeAppendBatch,
  encodeAppendDelta,
  encodeCtxCreate,
  encodeGetBefore,
  encodeGetBlob,
  encodeGetHead,
  encodeGetLast,
  encodeGetRange,
  encodePatch,
  encodePutBlob,
  encodeSeal,
  encodeSubscribe,
  pageFlags,
} from './cxdb-client.ts';

/** One direction of one message, with the kind of its values forgotten. */
export interface Message {
  readonly type: number;
  readonly decode: (payload: Uint8Array, flags: number) => unknown;
  readonly encode: (value: unknown) => Parts;
  /** Of the header. */
  readonly flagsOf: (value: unknown) => number;
}

interface Codec<T> {
  readonly type: number;
  readonly decode: (payload: Uint8Array, flags: number) => T;
  readonly encode: (value: T) => Parts;
  readonly flagsOf?: (value: T) => number;
}

function message<T>(codec: Codec<T>): Message {
  const { type, decode, encode, flagsOf = () => 0 } = codec;
  return {
    type,
    decode,
    encode: (value) => encode(value as T),
    flagsOf: (value) => flagsOf(value as T),
  };
}

const T = MessageType;
const HEAD = { encode: head.encodeHead, decode: decodeHead };
const PAGE = { encode: encodePage, decode: decodePage };
const ACK = { encode: encodeAck, decode: decodeAck };
const CREATE = { encode: encodeCtxCreate, decode: head.decodeCtxCreate };
const ATTACH = { encode: blob.encodeAttachFs, decode: blob.decodeAttachFs };
const UNSUBSCRIBE = { encode: encodeUnsubscribe, decode: decodeUnsubscribe };
const pushed = (): number => PUSHED;

const REQUESTS = {
  HELLO: message({ type: T.HELLO, encode: encodeHello, decode: decodeHello }),
  CTX_CREATE: message({ type: T.CTX_CREATE, ...CREATE }),
  CTX_FORK: message({ type: T.CTX_FORK, ...CREATE }),
  GET_HEAD: message({ type: T.GET_HEAD, encode: encodeGetHead, decode: head.decodeGetHead }),
  APPEND_TURN: message({
    type: T.APPEND_TURN,
    encode: encodeAppendTurn,
    decode: decodeAppendTurn,
    flagsOf: appendTurnFlags,
  }),
  GET_LAST: message({
    type: T.GET_LAST,
    encode: encodeGetLast,
    decode: pages.decodeGetLast,
    flagsOf: pageFlags,
  }),
  GET_BEFORE: message({
    type: T.GET_BEFORE,
    encode: encodeGetBefore,
    decode: pages.decodeGetBefore,
    flagsOf: pageFlags,
  }),
  GET_RANGE_BY_DEPTH: message({
    type: T.GET_RANGE_BY_DEPTH,
    encode: encodeGetRange,
    decode: pages.decodeGetRange,
    flagsOf: pageFlags,
  }),
  GET_BLOB: message({ type: T.GET_BLOB, encode: encodeGetBlob, decode: blob.decodeGetBlob }),
  ATTACH_FS: message({ type: T.ATTACH_FS, ...ATTACH }),
  PUT_BLOB: message({ type: T.PUT_BLOB, encode: encodePutBlob, decode: blob.decodePutBlob }),
  SUBSCRIBE: message({
    type: T.SUBSCRIBE,
    encode: encodeSubscribe,
    decode: subscribe.decodeSubscribe,
  }),
  APPEND_BATCH: message({
    type: T.APPEND_BATCH,
    encode: encodeAppendBatch,
    decode: decodeAppendBatch,
    flagsOf: appendBatchFlags,
  }),
  APPEND_DELTA: message({
    type: T.APPEND_DELTA,
    encode: encodeAppendDelta,
    decode: decodeAppendDelta,
  }),
  SEAL: message({ type: T.SEAL, encode: encodeSeal, decode: decodeSeal }),
  PATCH: message({ type: T.PATCH, encode: encodePatch, decode: decodePatch }),
  UNSUBSCRIBE: message({ type: T.UNSUBSCRIBE, ...UNSUBSCRIBE }),
  CALL: message({ type: T.CALL, encode: encodeCall, decode: decodeCall }),
};

const ANSWERS = {
  'HELLO reply': message({ type: T.HELLO, encode: encodeHelloReply, decode: decodeHelloReply }),
  'CTX_CREATE reply': message({ type: T.CTX_CREATE, ...HEAD }),
  'CTX_FORK reply': message({ type: T.CTX_FORK, ...HEAD }),
  'GET_HEAD reply': message({ type: T.GET_HEAD, ...HEAD }),
  'APPEND_TURN reply': message({ type: T.APPEND_TURN, ...ACK }),
  'APPEND_TURN reply with the row': message({
    type: T.APPEND_TURN,
    encode: encodeRowAck,
    decode: decodeRowAck,
  }),
  'GET_LAST reply': message({ type: T.GET_LAST, ...PAGE }),
  'GET_BEFORE reply': message({ type: T.GET_BEFORE, ...PAGE }),
  'GET_RANGE_BY_DEPTH reply': message({ type: T.GET_RANGE_BY_DEPTH, ...PAGE }),
  'GET_BLOB reply': message({
    type: T.GET_BLOB,
    encode: blob.encodeGetBlobReply,
    decode: decodeGetBlobReply,
  }),
  'ATTACH_FS reply': message({ type: T.ATTACH_FS, ...ATTACH }),
  'PUT_BLOB reply': message({
    type: T.PUT_BLOB,
    encode: blob.encodePutBlobReply,
    decode: decodePutBlobReply,
  }),
  'SUBSCRIBE reply': message({ type: T.SUBSCRIBE, ...HEAD }),
  push: message({ type: T.SUBSCRIBE, encode: encodePush, decode: decodePush, flagsOf: pushed }),
  'APPEND_BATCH reply': message({
    type: T.APPEND_BATCH,
    encode: encodeBatchAck,
    decode: decodeBatchAck,
  }),
  'APPEND_DELTA reply': message({
    type: T.APPEND_DELTA,
    encode: encodeDeltaAck,
    decode: decodeDeltaAck,
  }),
  'SEAL reply': message({ type: T.SEAL, ...ACK }),
  'PATCH reply': message({ type: T.PATCH, encode: encodePatchReply, decode: decodePatchReply }),
  'UNSUBSCRIBE reply': message({ type: T.UNSUBSCRIBE, ...UNSUBSCRIBE }),
  'CALL reply': message({ type: T.CALL, encode: encodeCallReply, decode: decodeCallReply }),
  STREAM: message({ type: T.STREAM, encode: encodeStream, decode: decodeStream, flagsOf: pushed }),
  ERROR: message({ type: T.ERROR, encode: encodeError, decode: decodeError }),
};

/** Everything that goes over the wire, by the name that the examples use. */
export const MESSAGES: ReadonlyMap<string, Message> = new Map(
  Object.entries({ ...REQUESTS, ...ANSWERS }),
);

export function messageNamed(name: string): Message {
  const found = MESSAGES.get(name);
  if (found === undefined) throw new Error(`there is no message ${name}`);
  return found;
}
