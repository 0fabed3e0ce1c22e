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
import type { LongTask, Job, Plan, Reply, Request, Session } from '../request/request.ts';
import { isLarge } from '../request/take-input.ts';
import { isOwnFault, toWireError } from '../request/request.ts';
import { Bell } from '../../base/bell.ts';

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
      const stream = answerMany(session, reqId, (caller) => handler.run(args, caller));
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
function answerMany(
  session: Session,
  reqId: Buffer,
  run: (caller: Caller) => AsyncIterable<unknown>,
): LongTask & { start(): void } {
  const abort = new AbortController();
  let isOver = false;
  function end(push: StreamPush): void {
    if (isOver) return;
    isOver = true;
    session.tasks.end(reqId, task);
    session.push(MessageType.STREAM, reqId, encodeStream(push));
  }
  function fail(error: unknown): void {
    end({ kind: 'error', error: toWireError(error, session.knowsQuipu) });
  }
  /** Never rejects. */
  async function pump(): Promise<void> {
    try {
      for await (const item of run({ identity: session.identity, signal: abort.signal })) {
        if (isOver) return;
        await session.pushLarge(MessageType.STREAM, reqId, () =>
          isOver ? [] : encodeStream({ kind: 'item', body: toCall(item) }),
        );
      }
      end({ kind: 'end' });
    } catch (error) {
      if (isOver) return;
      if (isOwnFault(error)) session.failed(error);
      fail(error);
      abort.abort();
    }
  }
  const task = {
    kind: 'stream',
    start(): void {
      if (!isOver) void pump();
    },
    cancel(error?: Error): void {
      if (error !== undefined) fail(error);
      isOver = true;
      abort.abort();
    },
  } as const;
  return task;
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

// The body of one CALL that arrives in pieces.
// Invariants
// - The reader gets the pieces in the order in which they arrived, each once, and no end before `end`.
// - At most `UPLOAD_BYTES_MAX` and the pieces that are not answered yet wait for the reader.

const UPLOAD_BYTES_MAX = 4 * 1024 * 1024;
/** The bytes that a piece costs in addition to its content. */
const PIECE_BYTES = 128;

type Read = (body: AsyncIterable<Uint8Array>, signal: AbortSignal) => Promise<unknown>;

export class Upload implements LongTask {
  readonly kind = 'upload';
  readonly #pieces: Uint8Array[] = [];
  #waitingBytes = 0;
  /** True when all pieces have arrived. */
  #complete = false;
  /** True when the reader has ended, well or badly, and takes no more pieces. */
  #done = false;
  #failure: Error | undefined;
  #result: Promise<unknown> = Promise.resolve();
  readonly #abort = new AbortController();
  readonly #idle: NodeJS.Timeout;
  /** Rings when there may be something for the reader. */
  readonly #bell = new Bell();
  #wakeWriters: (() => void)[] = [];

  constructor(idleMs: number) {
    this.#idle = setTimeout(() => this.cancel(), idleMs).unref();
  }

  /** Gives the body to `read`, whose result is the answer. Must be called once. */
  start(read: Read): void {
    this.#result = this.#readAll(read);
    // The result may fail before anyone waits for it.
    this.#result.catch(() => undefined);
  }

  async #readAll(read: Read): Promise<unknown> {
    try {
      return await read(this.#body(), this.#abort.signal);
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      this.#finish();
    }
  }

  /** Resolves when the piece has been taken in. */
  async push(piece: Uint8Array): Promise<void> {
    if (this.#complete) throw invalid('upload', 'has ended; it takes no more pieces');
    this.#idle.refresh();
    if (!this.#done && piece.length > 0) {
      // A small part of a large message must not keep the whole message in memory.
      const isSmallPart = piece.length * 2 < piece.buffer.byteLength;
      this.#pieces.push(isSmallPart ? new Uint8Array(piece) : piece);
      this.#waitingBytes += piece.length + PIECE_BYTES;
      this.#bell.ring();
    }
    while (!this.#done && this.#waitingBytes > UPLOAD_BYTES_MAX) {
      await new Promise<void>((resolve) => {
        this.#wakeWriters.push(resolve);
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves to the reader's answer to the whole body. */
  end(): Promise<unknown> {
    this.#complete = true;
    clearTimeout(this.#idle);
    this.#bell.ring();
    return this.#result;
  }

  cancel(): void {
    this.#failure ??= new QuipuError('CLOSED', 'the upload was aborted', { what: 'upload' });
    this.#abort.abort();
    this.#finish();
  }

  #finish(): void {
    this.#done = true;
    clearTimeout(this.#idle);
    this.#pieces.length = 0;
    this.#waitingBytes = 0;
    this.#bell.ring();
    this.#wakeAllWriters();
  }

  async *#body(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        if (this.#failure !== undefined) throw this.#failure;
        const piece = this.#pieces.shift();
        if (piece !== undefined) {
          this.#waitingBytes -= piece.length + PIECE_BYTES;
          if (this.#waitingBytes <= UPLOAD_BYTES_MAX) this.#wakeAllWriters();
          yield piece;
          continue;
        }
        if (this.#complete) return;
        await this.#bell.wait();
      }
    } finally {
      // The reader may stop early. Then nobody should wait for it.
      this.#done = true;
      this.#wakeAllWriters();
    }
  }

  #wakeAllWriters(): void {
    const waiting = this.#wakeWriters;
    this.#wakeWriters = [];
    for (const resolve of waiting) resolve();
  }
}
