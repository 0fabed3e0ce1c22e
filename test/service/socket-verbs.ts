import { hashBytes } from '../../src/base/hash.ts';
import { appendTurnFlags, encodeAppendTurn } from '../../src/wire/append-turn.ts';
import type { Ack, AppendTurn, TurnInput } from '../../src/wire/append-turn.ts';
import { toCall } from '../../src/wire/call-values.ts';
import { encodeCall } from '../../src/wire/call.ts';
import type { GetLast, Page } from '../../src/wire/cxdb/turns.ts';
import { MessageType } from '../../src/wire/message-type.ts';
import type { SocketPeer } from './socket-peer.ts';
import {
  decodeAck,
  decodeHead,
  decodePage,
  encodeAppendDelta,
  encodeCtxCreate,
  encodeGetLast,
  pageFlags,
} from '../wire/cxdb-client.ts';

export type Message = readonly [type: number, parts: readonly Uint8Array[], flags?: number];

export function turnInput(content: string | Uint8Array): TurnInput {
  const payload = typeof content === 'string' ? Buffer.from(content) : content;
  const about = { type: 'test.turn', version: 1, encoding: 3, compression: 0 };
  return { ...about, rawLength: payload.length, hash: hashBytes(payload), payload };
}

/** APPEND_TURN, of text unless told otherwise. */
export function appendOf(
  context: bigint,
  content: string | Uint8Array,
  options: Partial<AppendTurn> = {},
): Message {
  const append: AppendTurn = {
    context,
    parent: 0n,
    turn: turnInput(content),
    key: undefined,
    fsRoot: undefined,
    expectHead: false,
    open: false,
    wantRow: false,
    ...options,
  };
  return [MessageType.APPEND_TURN, encodeAppendTurn(append), appendTurnFlags(append)];
}

export function deltaOf(context: bigint, turn: bigint, offset: number, text: string): Message {
  const delta = { context, turn, offset, bytes: Buffer.from(text) };
  return [MessageType.APPEND_DELTA, encodeAppendDelta(delta)];
}

export function lastOf(context: bigint, limit: number, options: Partial<GetLast> = {}): Message {
  const request: GetLast = {
    context,
    limit,
    payload: true,
    wantExt: false,
    wantOpen: false,
    asOf: undefined,
    maxBytes: undefined,
    ...options,
  };
  return [MessageType.GET_LAST, encodeGetLast(request), pageFlags(request)];
}

export function callOf(method: string, ...args: readonly unknown[]): Message {
  return [MessageType.CALL, encodeCall({ method, body: toCall(args) })];
}

export async function createContext(peer: SocketPeer, base = 0n): Promise<bigint> {
  return decodeHead(await peer.must(MessageType.CTX_CREATE, encodeCtxCreate(base))).context;
}

export async function append(
  peer: SocketPeer,
  context: bigint,
  content: string | Uint8Array,
  options: Partial<AppendTurn> = {},
): Promise<Ack> {
  return decodeAck(await peer.must(...appendOf(context, content, options)));
}

export async function last(
  peer: SocketPeer,
  context: bigint,
  limit: number,
  options: Partial<GetLast> = {},
): Promise<Page> {
  return decodePage(await peer.must(...lastOf(context, limit, options)));
}

/** The payloads of a page, as text. */
export function textsOf({ turns }: Page): string[] {
  return turns.map(({ payload }) => Buffer.from(payload).toString());
}
