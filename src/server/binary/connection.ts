import type { Socket } from 'node:net';
import type { ContextId } from '../../base/brand.ts';
import { type QuipuError, isQuipuError, tooLarge } from '../../base/errors.ts';
import type { Parts } from '../../wire/byte-codec.ts';
import type { FrameEvent, Frame } from '../../wire/frame.ts';
import { toFrame } from '../../wire/frame.ts';
import { FRAME_PAYLOAD_MAX, FRAME_PAYLOAD_MAX_UNKNOWN } from '../../wire/limits.ts';
import { MessageType, PUSHED } from '../../wire/message-type.ts';
import type { Access, Identity } from '../access/access.ts';
import { PATIENCE_MS } from '../memory/byte-budget.ts';
import type { ByteBudget, ReplyRoom, ReplyShare } from '../memory/byte-budget.ts';
import type {
  BinaryLimits,
  Job,
  MessageTable,
  Session,
  BinaryHooks,
  SessionFacts,
} from '../request/request.ts';
import { LongTasks, goingAway, noAnswerYet, tooMuch } from '../request/request.ts';
import { Doorman, unauthorized } from './doorman.ts';
import { Inlet, Outlet } from './socket-ends.ts';
import { ReplyQueue, Ticket, failureReply, successReply, Jobs } from './jobs.ts';
import type { ReadyReply } from './jobs.ts';
import { planRequest } from './request-table.ts';

// One client from its first byte to its last. Frames come in through the inlet and become jobs, which begin in a
// defined order. The replies are put in line and leave through the outlet.

const KEEP_ALIVE_MS = 60_000;
/** The server takes frames up to this size even when it holds too much already. */
const SMALL_FRAME_BYTES = 1024 * 1024;
/** A server that shuts down waits at most this long for peers to close their side. */
const LEAVE_MS = 1000;
/** The request id of an error that is about the connection. */
const NO_REQUEST = Buffer.alloc(8);

/** The parts of its server that a connection works with. */
export interface ServerParts {
  readonly messages: MessageTable;
  readonly access: Access;
  readonly limits: BinaryLimits;
  readonly hooks: BinaryHooks;
  readonly sessionId: bigint;
  readonly budget: ByteBudget;
  /** Counts in the budget, too. */
  readonly room: ReplyRoom;
}

export class Connection implements Session {
  readonly limits: BinaryLimits;
  readonly tasks: LongTasks;
  readonly #socket: Socket;
  readonly #server: ServerParts;
  readonly #inlet: Inlet;
  readonly #outlet: Outlet;
  readonly #doorman: Doorman;
  readonly #jobs: Jobs;
  readonly #replies: ReplyQueue;
  readonly #share: ReplyShare;
  readonly #abort = new AbortController();
  #facts: SessionFacts;
  /** Authentication is in progress. */
  #asking = false;
  /** The reason why no further request is carried out. */
  #draining: QuipuError | undefined;
  /** The connection takes no more requests; the socket ends after the last reply. */
  #ending = false;
  #timer: NodeJS.Timeout | undefined;
  /** Pushes that wait for room. */
  readonly #pushes: (() => void)[] = [];
  /** The size of the last push. The next one is about as large. */
  #pushedBytes = 0;
  /** The client has less time to take its replies, because others wait for the room. */
  #isHurried = false;

  constructor(socket: Socket, server: ServerParts) {
    const { limits, hooks, access } = server;
    this.limits = limits;
    this.#socket = socket;
    this.#server = server;
    this.#facts = factsOf(socket, server.sessionId);
    this.tasks = new LongTasks({ stream: limits.streams, upload: limits.uploads });
    this.#share = server.room.shareFor({
      advance: () => {
        this.#jobs.advance();
        this.#wakePushes();
      },
      hurry: () => this.#hurry(),
    });
    this.#outlet = new Outlet(socket, limits.unsentBytes, hooks.sent, this.#share.setUnsent);
    this.#doorman = new Doorman(access, () => this.drain(unauthorized()));
    this.#replies = new ReplyQueue({
      answerMs: limits.answerMs,
      mayWrite: () => !this.#outlet.full,
      write: (ticket, reply) => this.#write(ticket, reply),
      late: ({ reqId }) => failureReply(reqId, noAnswerYet(limits.answerMs), this.knowsQuipu),
      flushed: () => this.#advance(),
      ready: this.#share.setReady,
    });
    this.#jobs = new Jobs(this, this.#replies, this.#outlet, this.#share);
    this.#inlet = new Inlet(socket, {
      budget: server.budget,
      received: hooks.received,
      mayTake: () => this.#mayTake(),
      maxPayload: () => this.#maxPayload(),
      take: (event) => this.#take(event),
      ended: () => this.#end(),
    });
    this.#listen();
    hooks.opened?.(this.#facts);
    this.#ask(() => this.#doorman.admitAnyone());
  }

  /** Throws for a client that may not ask for anything, or may no longer do so. */
  get identity(): Identity {
    if (this.#draining !== undefined) throw this.#draining;
    return this.#doorman.mustKnow();
  }

  get knowsQuipu(): boolean {
    return this.#doorman.knowsQuipu;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get tag(): string {
    return this.#doorman.tag;
  }

  made(context: ContextId): void {
    this.#server.hooks.made?.(this.#facts, context);
  }

  push(type: number, reqId: Buffer, parts: Parts): void {
    const frame = toFrame({ type, flags: PUSHED, reqId }, parts);
    this.#pushedBytes = frame.length;
    this.#outlet.write(frame);
  }

  async pushLarge(type: number, reqId: Buffer, make: () => Parts): Promise<void> {
    // Nothing comes between the look and the push, so the next one sees what this one took.
    while (!this.#hasRoom()) await this.room();
    const parts = make();
    if (parts.length > 0) this.push(type, reqId, parts);
  }

  async room(): Promise<void> {
    for (;;) {
      await this.#outlet.room();
      if (this.#hasRoom()) return;
      if (!this.#outlet.full) await new Promise<void>((resolve) => this.#pushes.push(resolve));
    }
  }

  /** True when the socket has room, and the answers of all connections together have. Else this connection waits. */
  #hasRoom(): boolean {
    return !this.#outlet.full && (this.#ending || this.#share.mayRead(this.#pushedBytes));
  }

  #wakePushes(): void {
    for (const wake of this.#pushes.splice(0)) wake();
  }

  failed(error: unknown): void {
    this.#server.hooks.failed?.(error, this.#facts);
  }

  /** Answers the requests that were read, tells subscribers that the connection ends, and ends it. */
  drain(why: QuipuError = goingAway()): void {
    if (this.#draining !== undefined || this.#ending) return;
    this.#inlet.advance();
    this.#draining = why;
    this.tasks.cancelAll(why);
    if (this.#replies.length === 0) this.#end();
  }

  #listen(): void {
    const { limits, hooks } = this.#server;
    const socket = this.#socket;
    // Small frames leave at once, and a peer that has vanished is detected.
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.setTimeout(limits.stallMs, () => this.#cutIfStalled());
    // A peer that goes away is not a failure of the server. `close` follows.
    socket.on('error', () => undefined);
    this.#timer = setTimeout(() => {
      if (this.#doorman.identity === undefined || socket.bytesRead === 0) socket.destroy();
    }, limits.helloMs).unref();
    socket.on('drain', () => {
      if (this.#isHurried) this.#unhurry();
      this.#replies.flush();
      this.#advance();
    });
    socket.on('close', () => {
      clearTimeout(this.#timer);
      this.#ending = true;
      this.#jobs.stop();
      this.#replies.clear();
      this.#outlet.close();
      this.#share.close();
      this.#wakePushes();
      this.#inlet.close();
      this.#doorman.leave();
      this.tasks.cancelAll();
      this.#abort.abort();
      hooks.closed?.(this.#facts);
    });
  }

  /** Cuts off a peer that should move and does not. A peer that is only idle may stay so for hours. */
  #cutIfStalled(): void {
    if (!this.#inlet.isMidFrame && this.#socket.writableLength === 0) return;
    if (this.#isHurried && !this.#server.budget.isPressed) this.#unhurry();
    else this.#socket.destroy();
  }

  /** The timer of a socket starts again whenever bytes leave it. */
  #hurry(): void {
    if (this.#isHurried) return;
    this.#isHurried = true;
    this.#socket.setTimeout(Math.min(PATIENCE_MS, this.limits.stallMs));
  }

  #unhurry(): void {
    this.#isHurried = false;
    this.#socket.setTimeout(this.limits.stallMs);
  }

  #mayTake(): boolean {
    const { pipelinedRequests, pipelinedBytes } = this.limits;
    return (
      !this.#asking &&
      !this.#ending &&
      !this.#outlet.full &&
      this.#replies.length < pipelinedRequests &&
      this.#replies.requestBytes < pipelinedBytes
    );
  }

  #maxPayload(): number {
    if (this.#doorman.identity === undefined) return FRAME_PAYLOAD_MAX_UNKNOWN;
    return this.#server.budget.isSpent ? SMALL_FRAME_BYTES : FRAME_PAYLOAD_MAX;
  }

  /** Continues all work that has room again. */
  #advance(): void {
    this.#jobs.advance();
    this.#inlet.advance();
    const isDone = this.#replies.length === 0;
    if (isDone && this.#ending) this.#finish();
    else if (isDone && this.#draining !== undefined) this.#end();
  }

  #take(event: FrameEvent): void {
    if (event.kind === 'oversized') this.#refuse(event);
    else if (event.type === MessageType.HELLO && this.#draining === undefined) this.#hello(event);
    else this.#request(event);
  }

  #request(frame: Frame): void {
    const handler = this.#server.messages.get(frame.type);
    let job: Job | undefined;
    let problem: unknown;
    try {
      job = planRequest(frame, handler, this);
    } catch (error) {
      problem = error;
    }
    const name = job?.name ?? handler?.name ?? 'unknown';
    const ticket = this.#ticket(frame, name, frame.payload.length);
    if (job !== undefined) this.#jobs.take(ticket, job);
    else {
      this.#fail(ticket, problem);
      if (isQuipuError(problem, 'UNAUTHORIZED')) this.#end();
    }
  }

  #hello(frame: Frame): void {
    const { payload, reqId, type } = frame;
    const ticket = this.#ticket(frame, 'HELLO', payload.length);
    this.#ask(async () => {
      try {
        const parts = await this.#doorman.greet(payload, this.#server.sessionId);
        this.#replies.answer(ticket, successReply({ type, flags: 0, reqId }, { parts }));
      } catch (error) {
        this.#fail(ticket, error);
        // A client whose HELLO is malformed may try again; a client that is refused may not.
        if (!isQuipuError(error, 'INVALID')) this.#end();
      }
    });
  }

  /** Takes no request until `look` has found out who the client is. */
  #ask(look: () => Promise<void>): void {
    this.#asking = true;
    look()
      .catch((error: unknown) => this.failed(error))
      .finally(() => {
        this.#asking = false;
        const { identity, tag } = this.#doorman;
        this.#facts = { ...this.#facts, identity: identity?.name, tag };
        if (this.#doorman.hasGreeted) this.#server.hooks.greeted?.(this.#facts);
        this.#inlet.advance();
      });
  }

  #refuse(event: Extract<FrameEvent, { kind: 'oversized' }>): void {
    const isKnown = this.#doorman.identity !== undefined;
    const error = oversizedError(event.length, this.#maxPayload(), isKnown);
    this.#fail(this.#ticket(event, 'unknown', 0), error);
    if (isQuipuError(error, 'TOO_LARGE')) this.#end();
  }

  #ticket({ type, reqId }: FrameEvent | Frame, message: string, bytes: number): Ticket {
    const ticket = new Ticket(type, reqId, message, bytes);
    this.#replies.add(ticket);
    return ticket;
  }

  #fail(ticket: Ticket, error: unknown): void {
    this.#replies.answer(ticket, failureReply(ticket.reqId, error, this.knowsQuipu));
  }

  #write({ message, bytes, sinceMs }: Ticket, { frame, code }: ReadyReply): void {
    this.#outlet.write(frame);
    this.#inlet.release(bytes);
    this.#server.hooks.answered?.({
      session: this.#facts,
      message,
      code,
      ms: performance.now() - sinceMs,
      bytesIn: bytes,
      bytesOut: frame.length,
    });
  }

  #end(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.tasks.cancelAll();
    this.#inlet.discard();
    if (this.#replies.length === 0) this.#finish();
  }

  /** Closing with unread input could destroy the last reply, so this reads from the peer for a while. */
  #finish(): void {
    if (this.#socket.writableEnded || this.#socket.destroyed) return;
    // Every request that was taken has its reply. A request without one was not carried out, and a client may send it
    // again.
    if (this.#draining !== undefined && this.knowsQuipu) {
      this.#outlet.write(failureReply(NO_REQUEST, this.#draining, true).frame);
    }
    this.#outlet.end();
    clearTimeout(this.#timer);
    const { discardMs } = this.limits;
    const waitMs = this.#draining === undefined ? discardMs : Math.min(discardMs, LEAVE_MS);
    this.#timer = setTimeout(() => this.#socket.destroy(), waitMs).unref();
  }
}

/** The facts about a connection before the client has said anything. */
function factsOf({ remoteAddress, remotePort }: Socket, id: bigint): SessionFacts {
  const remote = remoteAddress === undefined ? '' : `${remoteAddress}:${remotePort ?? 0}`;
  return { id, remote, identity: undefined, tag: '' };
}

/** The error for a frame over a limit that depends on its sender and on the moment. */
function oversizedError(length: number, limit: number, isKnown: boolean): QuipuError {
  if (isKnown && length <= FRAME_PAYLOAD_MAX) {
    return tooMuch('the server holds too many large requests; try again');
  }
  const message = `a frame of ${length} bytes is over the limit of ${limit}`;
  return tooLarge('frame', limit, length, message);
}
