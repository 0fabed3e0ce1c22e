import type { ContextId } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Parts } from '../../wire/byte-codec.ts';
import type { Frame } from '../../wire/frame.ts';
import type { Identity, Scope } from '../access/access.ts';
import { TOTAL_BYTES } from '../memory/byte-budget.ts';
import { invalid, QuipuError, isQuipuError } from '../../base/errors.ts';
import { TOO_MANY, toErrorMessage } from '../../wire/error-message.ts';
import type { ErrorMessage } from '../../wire/error-message.ts';

/** A message of a client, with only the flags that count. */
export type Request = Frame;

export interface Reply {
  readonly parts: Parts;
  /** Called when the reply is on its way, so that more frames may follow it. */
  readonly sent?: () => void;
}

/** The place of a request among the others of its connection, see `binary/jobs.ts`. */
export type Order =
  /** A request that touches nothing that others see. */
  | 'free'
  | 'read'
  /** A write that takes its place among the writes of the store when it begins. */
  | 'write'
  /** A write that takes its place some time after it began. */
  | 'barrier';

/** A request that the server has understood. */
export interface Job {
  readonly order: Order;
  /** A name for hooks, where the type of the message does not say enough. */
  readonly name?: string;
  run(): Promise<Reply>;
}

/** Answers one type of message. Throws for a mistake in the message itself, before anything is done. */
export type Plan = (engine: Engine, request: Request, session: Session) => Job;

/** The row of one type of message. */
export interface MessageHandler {
  readonly name: string;
  readonly needs: Scope;
  plan(request: Request, session: Session): Job;
}

export type MessageTable = ReadonlyMap<number, MessageHandler>;

/** The view that message handlers have of their connection. */
export interface Session {
  readonly identity: Identity;
  /** True when the client speaks Quipu's extensions of the protocol. */
  readonly knowsQuipu: boolean;
  readonly limits: BinaryLimits;
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal;
  /** The tasks that go on after their reply, by request id. */
  readonly tasks: LongTasks;
  /** What the client calls itself; empty for nothing. */
  readonly tag: string;
  /** Notes that this client made a context. */
  made(context: ContextId): void;
  /** Sends a small frame that answers no request. Returns at once. CLOSED when the connection has ended. */
  push(type: number, reqId: Buffer, parts: Parts): void;
  /** Makes and sends such a frame when there is room for it. CLOSED when the connection has ended. */
  pushLarge(type: number, reqId: Buffer, make: () => Parts): Promise<void>;
  /** Resolves when there is room for another push. CLOSED when the connection has ended. */
  room(): Promise<void>;
  /** Called with errors that no client waits for. */
  failed(error: unknown): void;
}

// The limits on what one client may take of the server. The protocol sets the limits of single messages.

export interface BinaryLimits {
  /** Connections at a time, over all listeners. A connection beyond that is told 503 and closed. */
  readonly connections: number;
  /** Requests of one connection that are read and not answered. At the limit the server stops reading its socket. */
  readonly pipelinedRequests: number;
  readonly pipelinedBytes: number;
  /** Bytes of requests and replies that all connections hold together. At the limit large requests are told 429. */
  readonly totalBytes: number;
  /** Bytes that one socket has not taken yet. At the limit the server stops answering its connection. */
  readonly unsentBytes: number;
  /** Bytes that may wait for one subscriber. More bytes end the subscription with 429. */
  readonly subscriptionBytes: number;
  /** Subscriptions and streams of one connection. */
  readonly streams: number;
  readonly uploads: number;
  /** The server answers a request within this time, if only with 504. */
  readonly answerMs: number;
  /** A client must send its first message within this time, and authenticate where that is needed. */
  readonly helloMs: number;
  /** A peer is cut off after this time if it stops in the middle of a frame, or stops taking replies. */
  readonly stallMs: number;
  /** The server reads a connection that it closes for this much longer, so that the last reply arrives. */
  readonly discardMs: number;
  /** An upload that gets no new piece for this long is given up. */
  readonly uploadIdleMs: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: BinaryLimits = {
  connections: 1024,
  pipelinedRequests: 1024,
  pipelinedBytes: 64 * MIB,
  totalBytes: TOTAL_BYTES,
  unsentBytes: MIB,
  subscriptionBytes: 8 * MIB,
  streams: 256,
  uploads: 64,
  answerMs: 25_000,
  helloMs: 10_000,
  stallMs: 30_000,
  discardMs: 5000,
  uploadIdleMs: 300_000,
};

// A server reports its work through these hooks, for logs and metrics. Hooks run on the hot path and must not throw.

/** The facts known so far about one connection. */
export interface SessionFacts {
  readonly id: bigint;
  /** Address and port of the peer; empty for a Unix socket. */
  readonly remote: string;
  /** The name of the identity; undefined until the client is authenticated. Never a token. */
  readonly identity: string | undefined;
  /** The name that the client gives itself. */
  readonly tag: string;
}

export interface AnsweredRequest {
  readonly session: SessionFacts;
  /** The message, such as `APPEND_TURN` or `CALL engine.commit`. */
  readonly message: string;
  /** 0, or the error number of the ERROR message. */
  readonly code: number;
  /** Milliseconds from the last byte of the request until the reply is written to the socket. */
  readonly ms: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface BinaryHooks {
  readonly opened?: ((session: SessionFacts) => void) | undefined;
  readonly closed?: ((session: SessionFacts) => void) | undefined;
  /** Called when a client has said who it is. */
  readonly greeted?: ((session: SessionFacts) => void) | undefined;
  readonly made?: ((session: SessionFacts, context: ContextId) => void) | undefined;
  /** Called for a connection over the limit. */
  readonly refused?: (() => void) | undefined;
  readonly answered?: ((request: AnsweredRequest) => void) | undefined;
  readonly received?: ((bytes: number) => void) | undefined;
  readonly sent?: ((bytes: number) => void) | undefined;
  /** Called for a failure of the server itself. The peer was told no more than that something went wrong. */
  readonly failed?: ((error: unknown, session: SessionFacts) => void) | undefined;
}

/** A task that goes on after its reply: a subscription, a stream or an upload. */
export interface LongTask {
  readonly kind: 'stream' | 'upload';
  /**
   * Ends the task now. From here on it may push nothing, except the error if there is one that the client should know.
   * Without an error the client wanted the end, or is gone.
   */
  cancel(error?: Error): void;
}

/** The long tasks of one connection, by the request id that began them. */
export class LongTasks {
  readonly #tasks = new Map<string, LongTask>();
  readonly #most: Readonly<Record<LongTask['kind'], number>>;

  constructor(most: Readonly<Record<LongTask['kind'], number>>) {
    this.#most = most;
  }

  begin(reqId: Uint8Array, task: LongTask): void {
    const key = keyOf(reqId);
    if (this.#tasks.has(key))
      throw invalid('request id', 'belongs to a task in progress; use another one');
    let count = 0;
    for (const { kind } of this.#tasks.values()) if (kind === task.kind) count += 1;
    if (count >= this.#most[task.kind]) {
      throw tooMuch(`${count} ${task.kind}s are under way, and there may be no more`);
    }
    this.#tasks.set(key, task);
  }

  get(reqId: Uint8Array): LongTask | undefined {
    return this.#tasks.get(keyOf(reqId));
  }

  /** Forgets a task that has ended by itself. */
  end(reqId: Uint8Array, task: LongTask): void {
    const key = keyOf(reqId);
    if (this.#tasks.get(key) === task) this.#tasks.delete(key);
  }

  /** Ignores unknown ids: a task may end at the moment it is cancelled. */
  cancel(reqId: Uint8Array): void {
    const task = this.get(reqId);
    if (task === undefined) return;
    this.#tasks.delete(keyOf(reqId));
    task.cancel();
  }

  cancelAll(error?: Error): void {
    const tasks = [...this.#tasks.values()];
    this.#tasks.clear();
    for (const task of tasks) task.cancel(error);
  }
}

function keyOf(reqId: Uint8Array): string {
  return Buffer.from(reqId).toString('latin1');
}

/** The error for a client that asks too much, or reads too slowly. */
export function tooMuch(problem: string): QuipuError<'UNAVAILABLE'> {
  return new QuipuError('UNAVAILABLE', problem, { what: 'connection' });
}

export function goingAway(): QuipuError<'UNAVAILABLE'> {
  return new QuipuError('UNAVAILABLE', 'the server is stopping; try again', { what: 'server' });
}

export function noAnswerYet(afterMs: number): QuipuError<'TIMEOUT'> {
  return new QuipuError('TIMEOUT', `no answer within ${afterMs} ms; the outcome is unknown`, {
    what: 'request',
    afterMs,
    outcome: 'unknown',
  });
}

/** True for a failure of the server itself, which belongs in its log. */
export function isOwnFault(error: unknown): boolean {
  return !isQuipuError(error) || error.code === 'IO' || error.code === 'CORRUPT';
}

/** The error as a client may see it. Details that are not meant for clients stay here. */
export function toWireError(error: unknown, knowsQuipu: boolean): ErrorMessage {
  if (!isQuipuError(error)) {
    const message = 'the server failed to answer; its log says why';
    const plain = new QuipuError('IO', message, { path: '', errno: 'UNKNOWN' });
    return toErrorMessage(plain, knowsQuipu);
  }
  if (isQuipuError(error, 'UNAVAILABLE') && error.data.what === 'connection') {
    return toErrorMessage(error, knowsQuipu, TOO_MANY);
  }
  return toErrorMessage(error, knowsQuipu);
}
