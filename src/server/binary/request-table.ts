import { QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Frame } from '../../wire/frame.ts';
import { MessageType, countingFlags } from '../../wire/message-type.ts';
import { assertAllowed } from '../access/access.ts';
import type { CallTable } from '../calls/call-handler.ts';
import { Request } from '../request/request.ts';
import type { Job, MessageHandler, MessageTable, Session } from '../request/request.ts';
import { appendBatch, appendTurn } from './append.ts';
import { attachFs, getBlob, putBlob } from '../cxdb/blobs.ts';
import { callMethod, unsubscribe } from './call.ts';
import { ctxCreate, getHead } from '../cxdb/heads.ts';
import { appendDelta, sealTurn } from '../cxdb/open-turns.ts';
import { getBefore, getLast, getRange } from '../cxdb/pages.ts';
import { patchTurn } from '../cxdb/patch.ts';
import { subscribe } from '../cxdb/subscription.ts';

/** The handlers of every message except HELLO, which is about the connection itself. */
export function createMessages(engine: Engine, calls: CallTable): MessageTable {
  return new Map([
    [MessageType.CTX_CREATE, ctxCreate(engine, 'CTX_CREATE')],
    [MessageType.CTX_FORK, ctxCreate(engine, 'CTX_FORK')],
    [MessageType.GET_HEAD, getHead(engine)],
    [MessageType.APPEND_TURN, appendTurn(engine)],
    [MessageType.GET_LAST, getLast(engine)],
    [MessageType.GET_BEFORE, getBefore(engine)],
    [MessageType.GET_RANGE_BY_DEPTH, getRange(engine)],
    [MessageType.GET_BLOB, getBlob(engine)],
    [MessageType.ATTACH_FS, attachFs(engine)],
    [MessageType.PUT_BLOB, putBlob(engine)],
    [MessageType.SUBSCRIBE, subscribe(engine)],
    [MessageType.APPEND_BATCH, appendBatch(engine)],
    [MessageType.APPEND_DELTA, appendDelta(engine)],
    [MessageType.SEAL, sealTurn(engine)],
    [MessageType.PATCH, patchTurn(engine)],
    [MessageType.UNSUBSCRIBE, unsubscribe()],
    [MessageType.CALL, callMethod(calls)],
  ]);
}

/** Throws for a request that the server does not understand, or that the client may not make. */
export function planRequest(
  frame: Frame,
  handler: MessageHandler | undefined,
  session: Session,
): Job {
  const { identity, knowsQuipu } = session;
  if (handler === undefined) throw unknownType(frame.type);
  assertAllowed(identity, handler.needs);
  const flags = countingFlags(frame.type, frame.flags, knowsQuipu);
  return handler.plan(new Request(frame, flags), session);
}

function unknownType(type: number): QuipuError<'UNSUPPORTED'> {
  const data = { what: 'msg_type', found: String(type) };
  return new QuipuError('UNSUPPORTED', 'unknown msg_type', data);
}
