import { QuipuError, invalid, notFound } from '../../base/errors.ts';
import { hexOf } from '../../base/hash.ts';
import { fromCall, toCall } from '../../wire/call-values.ts';
import {
  decodeCall,
  decodeUnsubscribe,
  encodeCallReply,
  encodeStream,
  encodeUnsubscribe,
} from '../../wire/call.ts';
import type { StreamPush } from '../../wire/call.ts';
import { REQUEST_ID_BYTES } from '../../wire/frame.ts';
import { MessageType } from '../../wire/message-type.ts';
import { assertAllowed } from '../access/access.ts';
import type { CallTable, Caller } from '../calls/call-handler.ts';
import type { LongTask } from '../request/long-tasks.ts';
import type { Job, Plan, Reply, Request, Session } from '../request/request.ts';
import { isLarge } from '../request/take-payload.ts';
import { isOwnFault, toWireError } from '../request/wire-error.ts';
import { Upload } from './upload.ts';

export function planCall(calls: CallTable, request: Request, session: Session): Job {
  const { method, body } = decodeCall(request.payload);
  const args = fromCall(body);
  if (!Array.isArray(args)) throw invalid('CALL.body', 'must be an array of arguments');
  return { ...planMethod({ method, args, request }, session, calls), name: `CALL ${method}` };
}

/** Ends what goes on after its reply: the stream of a CALL, or a SUBSCRIBE. */
export const unsubscribe: Plan = (_, { payload }, { tasks }) => {
  const reqId = decodeUnsubscribe(payload);
  tasks.cancel(reqId);
  return { order: 'free', run: () => Promise.resolve({ parts: encodeUnsubscribe(reqId) }) };
};

interface Called {
  readonly method: string;
  readonly args: readonly unknown[];
  readonly request: Request;
}

function planMethod({ method, args, request }: Called, session: Session, calls: CallTable): Job {
  if (method === 'upload.piece') return planUploadPiece(args, session);
  if (method === 'upload.end') return planUploadEnd(args, session);
  const handler = calls.get(method);
  if (handler === undefined) {
    const what = { what: 'method', found: method };
    throw new QuipuError('UNSUPPORTED', `there is no method ${JSON.stringify(method)}`, what);
  }
  const { identity, tasks, limits } = session;
  const { reqId, payload } = request;
  assertAllowed(identity, handler.needs);
  switch (handler.kind) {
    case 'answer': {
      const { signal } = session;
      const write = isLarge(payload.length) ? 'barrier' : 'write';
      const run = async (): Promise<Reply> =>
        replyWith(await handler.run(args, { identity, signal }));
      return { order: handler.needs === 'read' ? 'read' : write, run };
    }
    case 'stream': {
      const stream = new CallStream(session, reqId, (caller) => handler.run(args, caller));
      tasks.begin(reqId, stream);
      const sent = (): void => stream.start();
      return { order: 'read', run: () => Promise.resolve({ ...replyWith(undefined), sent }) };
    }
    case 'upload': {
      const upload = new Upload(limits.uploadIdleMs);
      tasks.begin(reqId, upload);
      upload.start((body, signal) => handler.run(args, body, { identity, signal }));
      return { order: 'free', run: () => Promise.resolve(replyWith(undefined)) };
    }
  }
}

function replyWith(value: unknown): Reply {
  return { parts: encodeCallReply(toCall(value)) };
}

/** Sends the answers of one CALL that has many. An answer is made when there is room for it. */
class CallStream implements LongTask {
  readonly kind = 'stream';
  readonly #session: Session;
  readonly #reqId: Buffer;
  readonly #run: (caller: Caller) => AsyncIterable<unknown>;
  readonly #abort = new AbortController();
  #over = false;

  constructor(session: Session, reqId: Buffer, run: (caller: Caller) => AsyncIterable<unknown>) {
    this.#session = session;
    this.#reqId = reqId;
    this.#run = run;
  }

  start(): void {
    if (!this.#over) void this.#pump();
  }

  cancel(error?: Error): void {
    if (error !== undefined) this.#end(this.#failure(error));
    this.#over = true;
    this.#abort.abort();
  }

  /** Never rejects. */
  async #pump(): Promise<void> {
    const { identity } = this.#session;
    try {
      for await (const item of this.#run({ identity, signal: this.#abort.signal })) {
        if (this.#over) return;
        await this.#session.pushLarge(MessageType.STREAM, this.#reqId, () =>
          this.#over ? [] : encodeStream({ kind: 'item', body: toCall(item) }),
        );
      }
      this.#end({ kind: 'end' });
    } catch (error) {
      if (this.#over) return;
      if (isOwnFault(error)) this.#session.failed(error);
      this.#end(this.#failure(error));
      this.#abort.abort();
    }
  }

  #failure(error: unknown): StreamPush {
    return { kind: 'error', error: toWireError(error, this.#session.knowsQuipu) };
  }

  #end(push: StreamPush): void {
    if (this.#over) return;
    this.#over = true;
    this.#session.tasks.end(this.#reqId, this);
    this.#push(push);
  }

  #push(push: StreamPush): void {
    this.#session.push(MessageType.STREAM, this.#reqId, encodeStream(push));
  }
}

// The two methods that belong to the protocol. A body travels in pieces, and each piece is a CALL of its own. A piece
// changes its upload when the piece is read, so pieces keep their order whatever other requests run.

function planUploadPiece(args: readonly unknown[], session: Session): Job {
  const [id, piece] = args;
  if (!(piece instanceof Uint8Array)) throw invalid('upload.piece', 'must be bytes');
  const { upload } = findUpload(id, session);
  return answerWith(upload.push(piece), 'free');
}

function planUploadEnd(args: readonly unknown[], session: Session): Job {
  const { upload, reqId } = findUpload(args[0], session);
  session.tasks.end(reqId, upload);
  return answerWith(upload.end(), 'write');
}

function findUpload(id: unknown, session: Session): { upload: Upload; reqId: Uint8Array } {
  if (!(id instanceof Uint8Array) || id.length !== REQUEST_ID_BYTES) {
    throw invalid('upload', 'must be the request id that began it, as 8 bytes');
  }
  const upload = session.tasks.get(id);
  if (upload instanceof Upload) return { upload, reqId: id };
  throw notFound('upload', hexOf(id));
}

function answerWith(result: Promise<unknown>, order: Job['order']): Job {
  // The result may fail before anyone waits for it.
  result.catch(() => undefined);
  return { order, run: async () => ({ parts: encodeCallReply(toCall(await result)) }) };
}
