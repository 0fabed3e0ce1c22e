import { ReadsAtOnce } from '../memory/byte-budget.ts';
import type { ReplyShare } from '../memory/byte-budget.ts';
import type { Job, Order, Reply, Session } from '../request/request.ts';
import { isOwnFault, toWireError } from '../request/request.ts';
import type { Outlet } from './socket-ends.ts';
import { encodeError } from '../../wire/error-message.ts';
import { toFrame } from '../../wire/frame.ts';
import type { FrameFields, OutgoingFrame } from '../../wire/frame.ts';
import { MessageType } from '../../wire/message-type.ts';

// Decides when the requests of one connection begin. Requests run side by side as far as no client can tell.
// Invariants
// - Writes begin in the order in which they were sent. A barrier begins when every write before it has ended, and no
//   later write begins before the barrier has ended.
// - A read begins when every write sent before it has ended. A read may see writes that were sent after it.
// - At most `readsAtOnce()` reads and `WRITES_AT_ONCE` writes run at a time.

/** Enough to fill a group commit, and few enough that others do not wait long for one client. */
export const WRITES_AT_ONCE = 256;
/** Bytes of replies that may wait for an earlier one. With more, no further reads begin. */
const READY_BYTES = 4 * 1024 * 1024;

/** A request with its place among the others. */
export class Ordered {
  order: Order;
  /** The place of the request, set when it is added. */
  seq = 0;
  ended = false;

  constructor(order: Order) {
    this.order = order;
  }
}

export class RequestOrder<T extends Ordered> {
  readonly #begin: (request: T) => void;
  readonly #readsAtOnce: () => number;
  /** Requests that wait, by rising number; the first one begins first. */
  readonly #waiting: T[] = [];
  #waitingWrites = 0;
  /** Writes by rising number, from the oldest one in progress on. Later ones may have ended already. */
  readonly #writes: T[] = [];
  #writing = 0;
  #barrier = false;
  #reads = 0;
  #seq = 0;
  #stopped = false;

  /** `begin` never throws. Each request that it starts must be reported to `end`. */
  constructor(begin: (request: T) => void, readsAtOnce: () => number) {
    this.#begin = begin;
    this.#readsAtOnce = readsAtOnce;
  }

  /** Adds a request, which may begin at once. */
  add(request: T): void {
    if (this.#stopped) return;
    this.#seq += 1;
    request.seq = this.#seq;
    const { order } = request;
    // A write may pass waiting reads: they wait for the writes before them, not for this one.
    const isNext = isWrite(order) ? this.#waitingWrites === 0 : this.#waiting.length === 0;
    if (order === 'free' || (isNext && this.#mayBegin(request))) {
      this.#start(request);
      return;
    }
    this.#waiting.push(request);
    if (isWrite(order)) this.#waitingWrites += 1;
  }

  /** Must be called once for each request that has begun, when it is over. */
  end(request: T): void {
    const { order } = request;
    if (order === 'free') return;
    if (order === 'read') this.#reads -= 1;
    else {
      request.ended = true;
      this.#writing -= 1;
      // A barrier runs alone.
      this.#barrier = false;
      while (this.#writes[0]?.ended === true) this.#writes.shift();
    }
    this.advance();
  }

  /** Begins the requests that can begin now. Call this when `readsAtOnce` may have grown. */
  advance(): void {
    for (;;) {
      const next = this.#waiting[0];
      if (next === undefined || !this.#mayBegin(next)) return;
      this.#waiting.shift();
      if (isWrite(next.order)) this.#waitingWrites -= 1;
      this.#start(next);
    }
  }

  /** Lets no further request begin. Requests in progress go on. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.length = 0;
    this.#waitingWrites = 0;
  }

  /** True when the request may begin, provided that no waiting request is in its way. */
  #mayBegin({ seq, order }: T): boolean {
    if (order === 'write') return !this.#barrier && this.#writing < WRITES_AT_ONCE;
    if (order === 'barrier') return this.#writing === 0;
    const oldest = this.#writes[0];
    return (oldest === undefined || oldest.seq > seq) && this.#reads < this.#readsAtOnce();
  }

  #start(request: T): void {
    const { order } = request;
    if (order === 'read') this.#reads += 1;
    else if (order !== 'free') {
      this.#writes.push(request);
      this.#writing += 1;
      if (order === 'barrier') this.#barrier = true;
    }
    this.#begin(request);
  }
}

function isWrite(order: Order): boolean {
  return order === 'write' || order === 'barrier';
}

/** Carries out the requests of one connection, each one when it may begin, and answers them. */
export class Jobs extends RequestOrder<Ticket> {
  readonly #session: Session;
  readonly #replies: ReplyQueue;
  readonly #outlet: Outlet;
  readonly #share: ReplyShare;
  readonly #reads = new ReadsAtOnce();

  constructor(session: Session, replies: ReplyQueue, outlet: Outlet, share: ReplyShare) {
    super(
      (ticket) => this.#carryOut(ticket),
      () => this.#readsNow(),
    );
    this.#session = session;
    this.#replies = replies;
    this.#outlet = outlet;
    this.#share = share;
  }

  take(ticket: Ticket, job: Job): void {
    ticket.job = job;
    ticket.order = job.order;
    this.add(ticket);
  }

  /** No further read begins while replies pile up, here or on all connections together. */
  #readsNow(): number {
    if (this.#outlet.full || this.#replies.readyBytes >= READY_BYTES) return 0;
    return this.#share.mayRead(this.#reads.typicalBytes) ? this.#reads.count : 0;
  }

  #carryOut(ticket: Ticket): void {
    if (ticket.isOver || ticket.job === undefined) {
      this.end(ticket);
      return;
    }
    if (ticket.order === 'read') ticket.heldBytes = this.#share.beginRead(this.#reads.typicalBytes);
    try {
      // No async function wraps this call: its promise and the extra step took a part of every append's time.
      ticket.job.run().then(
        (reply) => this.#succeeded(ticket, reply),
        (error: unknown) => this.#failed(ticket, error),
      );
    } catch (error) {
      this.#failed(ticket, error);
    }
  }

  #succeeded(ticket: Ticket, made: Reply): void {
    const { type, reqId } = ticket;
    let reply: ReadyReply;
    try {
      reply = successReply({ type, flags: 0, reqId }, made);
    } catch (error) {
      this.#failed(ticket, error);
      return;
    }
    // If the reply came too late, nothing that would follow it may be sent either.
    if (ticket.isOver) this.#session.tasks.cancel(reqId);
    if (ticket.order === 'read') this.#reads.note(reply.frame.length);
    this.#answered(ticket, reply);
  }

  #failed(ticket: Ticket, error: unknown): void {
    if (isOwnFault(error)) this.#session.failed(error);
    this.#answered(ticket, failureReply(ticket.reqId, error, this.#session.knowsQuipu));
  }

  #answered(ticket: Ticket, reply: ReadyReply): void {
    this.#replies.answer(ticket, reply);
    if (ticket.order === 'read') this.#share.endRead(ticket.heldBytes);
    this.end(ticket);
  }
}

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

/** One request: its place in line, and among the others. It is one object, because every request has both. */
export class Ticket extends Ordered {
  readonly type: number;
  readonly reqId: Buffer;
  /** The name of the message, for hooks. */
  readonly message: string;
  readonly bytes: number;
  readonly sinceMs: number = performance.now();
  reply: ReadyReply | undefined;
  /** Undefined for a request that was refused, or that is about the connection. */
  job: Job | undefined;
  /** Bytes that are held for the reply of a read in progress. */
  heldBytes = 0;

  constructor(type: number, reqId: Buffer, message: string, bytes: number) {
    super('free');
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
