import type { OutgoingFrame } from '../../wire/to-frame.ts';

// Replies in the order of their requests.
// Invariants
// - Every request that was taken gets one reply, in its turn, unless the connection ends before.
// - A reply that does not come in time is replaced, and never sent when it comes after all: a client that
//   has given up waiting would take it for the reply to its next request.

/** What a request is answered with. */
export interface ReadyReply {
  readonly frame: OutgoingFrame;
  /** 0, or the number of the ERROR. */
  readonly code: number;
  /** Called when the reply is on its way and something may follow it. */
  readonly sent?: (() => void) | undefined;
}

export interface ReplyQueueWorld {
  readonly answerMs: number;
  /** False while nothing more should be written. */
  readonly mayWrite: () => boolean;
  write(ticket: Ticket, reply: ReadyReply): void;
  /** What to say instead of a reply that took too long. */
  late(ticket: Ticket): ReadyReply;
  /** Some replies have been written. */
  flushed(): void;
}

/** One request, and its place in line. */
export class Ticket {
  readonly type: number;
  readonly reqId: Buffer;
  /** For hooks. */
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

  /** It has its reply; another one would come to nothing. */
  get isOver(): boolean {
    return this.reply !== undefined;
  }
}

export class ReplyQueue {
  readonly #world: ReplyQueueWorld;
  readonly #tickets: Ticket[] = [];
  #requestBytes = 0;
  #readyBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(world: ReplyQueueWorld) {
    this.#world = world;
  }

  /** Requests that are not answered. */
  get length(): number {
    return this.#tickets.length;
  }

  /** Their bytes. */
  get requestBytes(): number {
    return this.#requestBytes;
  }

  /** Bytes of replies that wait for an earlier one, or for the socket. */
  get readyBytes(): number {
    return this.#readyBytes;
  }

  /** The request takes its place in line. */
  add(ticket: Ticket): void {
    this.#tickets.push(ticket);
    this.#requestBytes += ticket.bytes;
    this.#timer ??= this.#startTimer(this.#world.answerMs);
  }

  answer(ticket: Ticket, reply: ReadyReply): void {
    if (ticket.isOver) return;
    ticket.reply = reply;
    this.#readyBytes += reply.frame.length;
    if (this.#tickets[0] === ticket) this.flush();
  }

  flush(): void {
    let written = 0;
    for (; ; written += 1) {
      const ticket = this.#tickets[0];
      if (ticket?.reply === undefined || !this.#world.mayWrite()) break;
      const { reply } = ticket;
      this.#tickets.shift();
      this.#requestBytes -= ticket.bytes;
      this.#readyBytes -= reply.frame.length;
      this.#world.write(ticket, reply);
      reply.sent?.();
    }
    if (written > 0) this.#world.flushed();
  }

  /** Nobody waits any more. */
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

  /** One timer for all: the first in line is always the oldest. */
  #replaceLate(): void {
    this.#timer = undefined;
    const { answerMs } = this.#world;
    for (const ticket of this.#tickets.slice()) {
      const leftMs = ticket.sinceMs + answerMs - performance.now();
      if (leftMs > 0) {
        this.#timer = this.#startTimer(leftMs);
        break;
      }
      if (!ticket.isOver) this.answer(ticket, this.#world.late(ticket));
    }
  }
}
