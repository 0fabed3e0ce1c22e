import { QuipuError, isQuipuError, unsupported, messageOf } from '../../base/errors.ts';
import type { Parts } from '../../wire/byte-codec.ts';
import { toCall } from '../../wire/call-values.ts';
import { encodeCall } from '../../wire/call.ts';
import type { Call } from '../../wire/call.ts';
import { toReqId } from '../../wire/frame.ts';
import { MessageType } from '../../wire/message-type.ts';
import { Deadlines, PendingCall, RequestSlots, PushedItems } from './pending-calls.ts';
import type { Deadline } from './pending-calls.ts';
import { outcomeUnknown, timedOut, unavailable } from '../transport.ts';
import type { CallOptions, Transport } from '../transport.ts';
import type { Dial } from './dial.ts';
import { toMessage } from './outgoing-message.ts';
import type { OutgoingMessage } from './outgoing-message.ts';
import { PROTOCOL_VERSION, decodeHelloReply, encodeHello, helloMeta } from '../../wire/hello.ts';
import { parseJsonObject } from '../../base/fields.ts';
import { Connection } from './connection.ts';
import { connected } from './dial.ts';

/** A server reads no more than 1,024 requests, or 64 MiB of them, ahead of its answers. */
const MOST = { requests: 1000, bytes: 33_554_432 };

export interface SocketTransportOptions {
  readonly dial: Dial;
  readonly token?: string | undefined;
  /** The time limit of a call that sets none. */
  readonly timeoutMs: number;
}

interface Wait {
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Calls over one connection, which is opened when it is needed and opened again after it was lost. Uploads have
 * connections of their own: the replies to their pieces wait for the disk, and other replies would wait behind them.
 */
export class SocketTransport implements Transport {
  readonly #options: SocketTransportOptions;
  readonly #slots = new RequestSlots(MOST);
  readonly #uploads = new Set<Connection>();
  readonly #deadlines = new Deadlines();
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #closed: QuipuError<'CLOSED'> | undefined;

  constructor(options: SocketTransportOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#connection?.isOpen === true;
  }

  /** Connects to the server now instead of with the first call. */
  async connect(timeoutMs: number = this.#options.timeoutMs): Promise<void> {
    await this.#reach(timeoutMs);
  }

  readonly call: Transport['call'] = (method, args, options = {}) => {
    const { signal, timeoutMs = this.#options.timeoutMs } = options;
    return new Promise((resolve, reject) => {
      this.#assertOpen();
      signal?.throwIfAborted();
      const message = toMessage(method, args);
      const over = this.#over;
      const call = new PendingCall({ method, message, timeoutMs, signal, resolve, reject, over });
      const waiting = this.#slots.enter(message.bytes);
      if (waiting === undefined && this.#open !== undefined) this.#send(call, this.#open);
      else void this.#sendLater(call, waiting);
    });
  };

  async *stream(
    method: string,
    args: readonly unknown[],
    options: CallOptions = {},
  ): AsyncGenerator<unknown, void, undefined> {
    const { signal, timeoutMs = this.#options.timeoutMs } = options;
    this.#assertOpen();
    signal?.throwIfAborted();
    const items = new PushedItems();
    const onAbort = (): void => items.end(signal?.reason as Error);
    const connection = await this.#reach(timeoutMs);
    const parts: Parts = encodeCall({ method, body: toCall(args) });
    const begun = connection.requestStream(parts, items);
    signal?.addEventListener('abort', onAbort);
    let id: number | undefined;
    try {
      id = await this.#within(begun, { what: method, timeoutMs, signal });
      for (let next = await items.next(); !next.done; next = await items.next()) yield next.value;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      if (id === undefined) void forgetLater(connection, begun);
      else connection.forgetStream(id);
    }
  }

  readonly upload: Transport['upload'] = async (method, args, body, options = {}) => {
    const { signal, timeoutMs = this.#options.timeoutMs } = options;
    this.#assertOpen();
    signal?.throwIfAborted();
    const { dial, token } = this.#options;
    const connection = await openConnection(dial, token, timeoutMs);
    const onAbort = (): void => connection.end(outcomeUnknown('the upload was aborted'));
    this.#uploads.add(connection);
    signal?.addEventListener('abort', onAbort);
    try {
      this.#assertOpen();
      return await sendUpload(connection, { method, body: toCall(args) }, body);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#uploads.delete(connection);
      connection.end();
    }
  };

  async close(): Promise<void> {
    const error = new QuipuError('CLOSED', 'the client is closed', { what: 'client' });
    this.#closed ??= error;
    for (const upload of this.#uploads) upload.end(error);
    this.#connection?.end(error);
    await this.#connecting?.then(
      (connection) => connection.end(error),
      () => undefined,
    );
  }

  get #open(): Connection | undefined {
    return this.#connection?.isOpen === true ? this.#connection : undefined;
  }

  async #reach(timeoutMs: number): Promise<Connection> {
    if (this.#open !== undefined) return this.#open;
    this.#connecting ??= this.#connectNow(timeoutMs);
    return this.#connecting;
  }

  async #connectNow(timeoutMs: number): Promise<Connection> {
    const { dial, token } = this.#options;
    try {
      const connection = await openConnection(dial, token, timeoutMs);
      if (this.#closed !== undefined) connection.end(this.#closed);
      this.#assertOpen();
      this.#connection = connection;
      return connection;
    } finally {
      this.#connecting = undefined;
    }
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) throw this.#closed;
  }

  async #sendLater(call: PendingCall, waiting: Promise<void> | undefined): Promise<void> {
    try {
      await waiting;
      this.#send(call, this.#open ?? (await this.#reach(call.timeoutMs)));
    } catch (error) {
      call.fail(error);
    }
  }

  #send(call: PendingCall, connection: Connection): void {
    try {
      call.begin();
      connection.send(call.message, call);
      this.#deadlines.add(call);
    } catch (error) {
      call.fail(error);
    }
  }

  readonly #over = (call: PendingCall): void => {
    this.#slots.leave(call.message.bytes);
    this.#deadlines.takeBack(call);
  };

  #within<T>(work: Promise<T>, { what, timeoutMs, signal }: Wait): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const passed = (): void => reject(timedOut(what, timeoutMs, true));
      const deadline = { at: performance.now() + timeoutMs, passed };
      const onAbort = (): void => reject(signal?.reason as Error);
      const settle = (): void => {
        this.#deadlines.takeBack(deadline);
        signal?.removeEventListener('abort', onAbort);
      };
      this.#deadlines.add(deadline);
      signal?.addEventListener('abort', onAbort);
      void work.then(resolve, reject).finally(settle);
    });
  }
}

/** The server may still begin the stream. Then it is told that nobody reads the stream. */
async function forgetLater(connection: Connection, begun: Promise<number>): Promise<void> {
  try {
    connection.forgetStream(await begun);
  } catch {
    // The stream never began.
  }
}

const PIECE_BYTES = 1_048_576;
/** Pieces in flight at a time: the replies set the pace. */
const PIECES_AHEAD = 4;

/** Sends the call, the body in pieces, and the end; returns the method's answer. */
async function sendUpload(
  connection: Connection,
  call: Call,
  body: AsyncIterable<Uint8Array>,
): Promise<unknown> {
  const begun = connection.request({ type: MessageType.CALL, parts: encodeCall(call) });
  const upload = toReqId(BigInt(begun.id));
  await begun.reply;
  const replies: Promise<Buffer>[] = [];
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      const piece = chunk.subarray(at, at + PIECE_BYTES);
      replies.push(send(connection, toMessage('upload.piece', [upload, piece])));
      if (replies.length > PIECES_AHEAD) await replies.shift();
    }
  }
  await Promise.all(replies);
  const last = toMessage('upload.end', [upload]);
  return last.read(await send(connection, last));
}

function send(connection: Connection, message: OutgoingMessage): Promise<Buffer> {
  const { reply } = connection.request(message);
  // The reply is awaited later, or never if another piece has failed.
  reply.catch(() => undefined);
  return reply;
}

const TAG = 'quipu-js';

/** Opens a connection, on which server and client have identified themselves. */
async function openConnection(
  dial: Dial,
  token: string | undefined,
  timeoutMs: number,
): Promise<Connection> {
  const dialled = dial();
  const { socket } = dialled;
  try {
    await connected(socket, timeoutMs);
  } catch (error) {
    socket.destroy();
    // Later errors of an abandoned socket must not end the process.
    socket.on('error', () => undefined);
    throw unavailable(`the server cannot be reached: ${messageOf(error)}`, error);
  }
  const hello = encodeHello({
    version: PROTOCOL_VERSION,
    tag: TAG,
    meta: helloMeta({ token, quipu: true }),
  });
  const connection = new Connection(dialled, hello);
  // A timer alone may fire early. Who waits for the owner of a store would then believe that there is time to ask again.
  const deadlines = new Deadlines();
  const late: Deadline = {
    at: performance.now() + timeoutMs,
    passed: () => connection.end(unavailable(`the server did not answer within ${timeoutMs} ms`)),
  };
  deadlines.add(late);
  try {
    const { reply } = connection.request({ type: MessageType.HELLO, parts: hello });
    assertQuipu(decodeHelloReply(await reply).caps);
    return connection;
  } catch (error) {
    connection.end(error);
    throw isQuipuError(error, 'UNAVAILABLE')
      ? unavailable(`the server refused the connection: ${error.message}`, error)
      : error;
  } finally {
    deadlines.takeBack(late);
  }
}

/** Other servers of this protocol do not know calls. */
function assertQuipu(caps: string | undefined): void {
  const server = parseJsonObject(caps ?? '')?.['server'];
  if (server === 'quipu') return;
  throw unsupported(
    'server',
    typeof server === 'string' ? server : 'another protocol',
    'the server is not a Quipu server; check the address',
  );
}
