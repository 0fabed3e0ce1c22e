import type { Engine } from '../../engine/engine.ts';
import type { Parts } from '../../wire/byte-writer.ts';
import type { Frame } from '../../wire/frame.ts';
import type { Identity, Scope } from '../access/access.ts';
import type { LongTasks } from './long-tasks.ts';
import { TOTAL_BYTES } from '../memory/byte-budget.ts';

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
  /** Called for a connection over the limit. */
  readonly refused?: (() => void) | undefined;
  readonly answered?: ((request: AnsweredRequest) => void) | undefined;
  readonly received?: ((bytes: number) => void) | undefined;
  readonly sent?: ((bytes: number) => void) | undefined;
  /** Called for a failure of the server itself. The peer was told no more than that something went wrong. */
  readonly failed?: ((error: unknown, session: SessionFacts) => void) | undefined;
}
