import type { LongTasks } from '../request/long-tasks.ts';
import { ReadsAtOnce } from '../memory/reads-at-once.ts';
import { successReply } from './ready-replies.ts';
import type { ReadyReply, Ticket } from './reply-queue.ts';
import type { Job, Reply } from '../request/request.ts';
import { Ordered, RequestOrder } from './request-order.ts';
import { isOwnFault } from '../request/wire-error.ts';

export interface RunnerWorld {
  readonly tasks: LongTasks;
  /** False while replies pile up. No further reads should begin then. */
  readonly mayRead: () => boolean;
  answer(ticket: Ticket, reply: ReadyReply): void;
  fail(ticket: Ticket, error: unknown): void;
  /** Called with failures of the server itself. */
  failed(error: unknown): void;
}

/** A request that the server has understood. */
class Accepted extends Ordered {
  readonly ticket: Ticket;
  readonly job: Job;

  constructor(ticket: Ticket, job: Job) {
    super(job.order);
    this.ticket = ticket;
    this.job = job;
  }
}

/** Carries out the requests of one connection, each one when it may begin, and answers them. */
export class RequestRunner {
  readonly #world: RunnerWorld;
  readonly #order: RequestOrder<Accepted>;
  readonly #reads = new ReadsAtOnce();

  constructor(world: RunnerWorld) {
    this.#world = world;
    const readsAtOnce = (): number => (world.mayRead() ? this.#reads.count : 0);
    this.#order = new RequestOrder((request) => this.#begin(request), readsAtOnce);
  }

  add(ticket: Ticket, job: Job): void {
    this.#order.add(new Accepted(ticket, job));
  }

  /** Begins the requests that can begin now. */
  advance(): void {
    this.#order.advance();
  }

  /** Lets no further request begin. Requests in progress go on. */
  stop(): void {
    this.#order.stop();
  }

  #begin(request: Accepted): void {
    if (request.ticket.isOver) {
      this.#order.end(request);
      return;
    }
    try {
      // No async function wraps this call: its promise and the extra step took a part of every append's time.
      request.job.run().then(
        (reply) => this.#succeeded(request, reply),
        (error: unknown) => this.#failed(request, error),
      );
    } catch (error) {
      this.#failed(request, error);
    }
  }

  #succeeded(request: Accepted, made: Reply): void {
    const { ticket, order } = request;
    let reply: ReadyReply;
    try {
      const { type, reqId } = ticket;
      reply = successReply({ type, flags: 0, reqId }, made);
    } catch (error) {
      this.#failed(request, error);
      return;
    }
    // If the reply came too late, nothing that would follow it may be sent either.
    if (ticket.isOver) this.#world.tasks.cancel(ticket.reqId);
    if (order === 'read') this.#reads.note(reply.frame.length);
    this.#world.answer(ticket, reply);
    this.#order.end(request);
  }

  #failed(request: Accepted, error: unknown): void {
    if (isOwnFault(error)) this.#world.failed(error);
    this.#world.fail(request.ticket, error);
    this.#order.end(request);
  }
}
