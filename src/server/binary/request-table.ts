import type { Engine } from '../../engine/engine.ts';
import { MessageType } from '../../wire/message-type.ts';
import type { CallTable } from '../calls/call-handler.ts';
import type { MessageTable } from '../request/request.ts';
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
