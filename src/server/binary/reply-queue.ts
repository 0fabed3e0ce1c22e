import { encodeError } from '../../wire/error-message.ts';
import { toFrame } from '../../wire/frame.ts';
import type { FrameFields, OutgoingFrame } from '../../wire/frame.ts';
import { MessageType } from '../../wire/message-type.ts';
import type { Reply } from '../request/request.ts';
import { toWireError } from '../request/wire-error.ts';

// Sends replies in the order of their requests.
// Invariants
// - Every request that was taken gets one reply, in its turn, unless the connection ends before.
// - A reply that does not come in time is replaced, and a late reply is never sent. A client that has given up waiting
//   would take it for the reply to its next request.

/** The answer to a request. */
export interface ReadyReply {
  readonly frame: OutgoingFrame;
  /** 0, or the error number of the ERROR message. */
  readonly code: number;
  /** Called when the reply is on its way, so that more frames may follow it. */
  readonly sent?: (() => void) | undefined;
}

/** TOO_LARGE for a reply that does not fit a frame. */
export function successReply(fields: FrameFields, { parts, sent }: Reply): ReadyReply {
  return { frame: toFrame(fields, parts), code: 0, sent };
}

export function failureReply(reqId: Buffer, error: unknown, knowsQuipu: boolean): ReadyReply {
  const message = toWireError(error, knowsQuipu);
  const fields = { type: MessageType.ERROR, flags: 0, reqId };
  return { frame: toFrame(fields, encodeError(message)), code: message.code };
}

export interface ReplyOutlet {
  readonly answerMs: number;
  /** False while no more bytes should be written. */
  readonly mayWrite: () => boolean;
  write(ticket: Ticket, reply: ReadyReply): void;
  /** Makes the reply that replaces one that took too long. */
  late(ticket: Ticket): ReadyReply;
  /** Called when some replies have been written. */
  flushed(): void;
  /** Told of the bytes of replies that are ready and not written, when they change. */
  readonly ready?: (bytes: number) => void;
}

/** One request, and its place in line. */
export class Ticket {
  readonly type: number;
  readonly reqId: Buffer;
  /** The name of the message, for hooks. */
  readonly message: string;
  readonly bytes: number;
  readonly sinceMs: number = performance.now();
  reply: ReadyReply | undefined;

  constructor(type: number, reqId: Buffer, message: string, bytes: number) {
    this.type = type;
    this.reqId = reqId;
    this.message = message;
    this.bytes = bytes;
  }

  /** True when the request has its reply; a second reply would have no effect. */
  get isOver(): boolean {
    return this.reply !== undefined;
  }
}

export class ReplyQueue {
  readonly #outlet: ReplyOutlet;
  readonly #tickets: Ticket[] = [];
  #requestBytes = 0;
  #readyBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(outlet: ReplyOutlet) {
    this.#outlet = outlet;
  }

  /** The number of requests that are not answered yet. */
  get length(): number {
    return this.#tickets.length;
  }

  /** The bytes of the requests that are not answered yet. */
  get requestBytes(): number {
    return this.#requestBytes;
  }

  /** Bytes of replies that wait for an earlier one, or for the socket. */
  get readyBytes(): number {
    return this.#readyBytes;
  }

  /** Puts the request in line. */
  add(ticket: Ticket): void {
    this.#tickets.push(ticket);
    this.#requestBytes += ticket.bytes;
    this.#timer ??= this.#startTimer(this.#outlet.answerMs);
  }

  answer(ticket: Ticket, reply: ReadyReply): void {
    if (ticket.isOver) return;
    ticket.reply = reply;
    this.#readyBytes += reply.frame.length;
    if (this.#tickets[0] === ticket) this.flush();
    else this.#outlet.ready?.(this.#readyBytes);
  }

  flush(): void {
    let written = 0;
    for (; ; written += 1) {
      const ticket = this.#tickets[0];
      if (ticket?.reply === undefined || !this.#outlet.mayWrite()) break;
      const { reply } = ticket;
      this.#tickets.shift();
      this.#requestBytes -= ticket.bytes;
      this.#readyBytes -= reply.frame.length;
      this.#outlet.write(ticket, reply);
      reply.sent?.();
    }
    this.#outlet.ready?.(this.#readyBytes);
    if (written > 0) this.#outlet.flushed();
  }

  /** Drops all requests: nobody waits for the replies any more. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#tickets.length = 0;
    this.#requestBytes = 0;
    this.#readyBytes = 0;
  }

  #startTimer(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#replaceLate(), ms).unref();
  }

  /** One timer serves all requests: the first in line is always the oldest. */
  #replaceLate(): void {
    this.#timer = undefined;
    const { answerMs } = this.#outlet;
    for (const ticket of this.#tickets.slice()) {
      const leftMs = ticket.sinceMs + answerMs - performance.now();
      if (leftMs > 0) {
        this.#timer = this.#startTimer(leftMs);
        break;
      }
      if (!ticket.isOver) this.answer(ticket, this.#outlet.late(ticket));
    }
  }
}
