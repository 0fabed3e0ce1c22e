import { QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Frame } from '../../wire/frame.ts';
import { MessageType, countingFlags } from '../../wire/message-type.ts';
import { assertAllowed } from '../access/access.ts';
import type { Scope } from '../access/access.ts';
import type { CallTable } from '../calls/call-handler.ts';
import type { Job, MessageHandler, MessageTable, Plan, Session } from '../request/request.ts';
import { appendBatch, appendTurn } from './append.ts';
import { attachFs, getBlob, putBlob, ctxCreate, getHead, patchTurn } from '../cxdb/messages.ts';
import { planCall, unsubscribe } from './call.ts';
import { appendDelta, sealTurn } from '../cxdb/open-turns.ts';
import { getBefore, getLast, getRange } from '../cxdb/pages.ts';
import { subscribe } from '../cxdb/subscription.ts';

type MessageName = Exclude<keyof typeof MessageType, 'HELLO' | 'STREAM' | 'ERROR'>;

/** Every message except HELLO, which is about the connection itself, and those that only a server sends. */
const MESSAGES: Readonly<Record<Exclude<MessageName, 'CALL'>, readonly [needs: Scope, Plan]>> = {
  CTX_CREATE: ['write', ctxCreate],
  CTX_FORK: ['write', ctxCreate],
  GET_HEAD: ['read', getHead],
  APPEND_TURN: ['write', appendTurn],
  GET_LAST: ['read', getLast],
  GET_BEFORE: ['read', getBefore],
  GET_RANGE_BY_DEPTH: ['read', getRange],
  GET_BLOB: ['read', getBlob],
  ATTACH_FS: ['write', attachFs],
  PUT_BLOB: ['write', putBlob],
  SUBSCRIBE: ['read', subscribe],
  APPEND_BATCH: ['write', appendBatch],
  APPEND_DELTA: ['write', appendDelta],
  SEAL: ['write', sealTurn],
  PATCH: ['write', patchTurn],
  UNSUBSCRIBE: ['read', unsubscribe],
};

export function createMessages(engine: Engine, calls: CallTable): MessageTable {
  const call: Plan = (_, request, session) => planCall(calls, request, session);
  const rows = Object.entries({ ...MESSAGES, CALL: ['read', call] as const });
  return new Map(
    rows.map(([name, [needs, plan]]) => [
      MessageType[name as MessageName],
      { name, needs, plan: (request, session) => plan(engine, request, session) },
    ]),
  );
}

/** Throws for a request that the server does not understand, or that the client may not make. */
export function planRequest(
  frame: Frame,
  handler: MessageHandler | undefined,
  session: Session,
): Job {
  const { type, reqId, payload } = frame;
  const { identity, knowsQuipu } = session;
  if (handler === undefined) throw unknownType(type);
  assertAllowed(identity, handler.needs);
  const flags = countingFlags(type, frame.flags, knowsQuipu);
  return handler.plan({ type, flags, reqId, payload }, session);
}

function unknownType(type: number): QuipuError<'UNSUPPORTED'> {
  const data = { what: 'msg_type', found: String(type) };
  return new QuipuError('UNSUPPORTED', 'unknown msg_type', data);
}
