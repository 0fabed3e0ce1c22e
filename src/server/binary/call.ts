import { QuipuError, invalid } from '../../base/errors.ts';
import { fromCall, toCall } from '../../wire/call-values.ts';
import { decodeUnsubscribe, encodeUnsubscribe } from '../../wire/stream.ts';
import { decodeCall, encodeCallReply } from '../../wire/call.ts';
import { assertAllowed } from '../access/access.ts';
import type {
  AnswerHandler,
  CallTable,
  StreamHandler,
  UploadHandler,
} from '../calls/call-handler.ts';
import type { Job, MessageHandler, Reply, Request, Session } from '../request/request.ts';
import { isLarge } from '../request/take-payload.ts';
import { CallStream } from './call-stream.ts';
import { planUploadEnd, planUploadPiece } from './upload-calls.ts';
import { Upload } from './upload.ts';

export function callMethod(calls: CallTable): MessageHandler {
  return {
    name: 'CALL',
    needs: 'read',
    plan(request: Request, session: Session): Job {
      const { method, body } = decodeCall(request.payload);
      const args = fromCall(body);
      if (!Array.isArray(args)) throw invalid('CALL.body', 'is an array of arguments');
      return { ...planCall({ method, args, request }, session, calls), name: `CALL ${method}` };
    },
  };
}

/** Ends what goes on after its reply: the stream of a CALL, or a SUBSCRIBE. */
export function unsubscribe(): MessageHandler {
  return {
    name: 'UNSUBSCRIBE',
    needs: 'read',
    plan({ payload }: Request, { tasks }: Session): Job {
      const reqId = decodeUnsubscribe(payload);
      tasks.cancel(reqId);
      return { order: 'free', run: () => Promise.resolve({ parts: encodeUnsubscribe(reqId) }) };
    },
  };
}

interface Called {
  readonly method: string;
  readonly args: readonly unknown[];
  readonly request: Request;
}

function planCall({ method, args, request }: Called, session: Session, calls: CallTable): Job {
  if (method === 'upload.piece') return planUploadPiece(args, session);
  if (method === 'upload.end') return planUploadEnd(args, session);
  const handler = calls.get(method);
  if (handler === undefined) {
    const what = { what: 'method', found: method };
    throw new QuipuError('UNSUPPORTED', `there is no method ${JSON.stringify(method)}`, what);
  }
  assertAllowed(session.identity, handler.needs);
  switch (handler.kind) {
    case 'answer':
      return planAnswer(handler, args, request, session);
    case 'stream':
      return planStream(handler, args, request, session);
    case 'upload':
      return planUpload(handler, args, request, session);
  }
}

function planAnswer(
  handler: AnswerHandler,
  args: readonly unknown[],
  { payload }: Request,
  { identity, signal }: Session,
): Job {
  const write = isLarge(payload.length) ? 'barrier' : 'write';
  return {
    order: handler.needs === 'read' ? 'read' : write,
    run: async () => replyWith(await handler.run(args, { identity, signal })),
  };
}

function planStream(
  handler: StreamHandler,
  args: readonly unknown[],
  { reqId }: Request,
  session: Session,
): Job {
  const stream = new CallStream(session, reqId, (caller) => handler.run(args, caller));
  session.tasks.begin(reqId, stream);
  return {
    order: 'read',
    run: () => Promise.resolve({ ...replyWith(undefined), sent: () => stream.start() }),
  };
}

function planUpload(
  handler: UploadHandler,
  args: readonly unknown[],
  { reqId }: Request,
  { identity, tasks, limits }: Session,
): Job {
  const upload = new Upload(limits.uploadIdleMs);
  tasks.begin(reqId, upload);
  upload.start((body, signal) => handler.run(args, body, { identity, signal }));
  return { order: 'free', run: () => Promise.resolve(replyWith(undefined)) };
}

function replyWith(value: unknown): Reply {
  return { parts: encodeCallReply(toCall(value)) };
}
