import type { LongTasks } from './long-tasks.ts';
import { ReadsAtOnce } from '../reads-at-once.ts';
import { successReply } from './ready-replies.ts';
import type { ReadyReply, Ticket } from './reply-queue.ts';
import type { Job, Reply } from './request.ts';
import { Ordered, RequestOrder } from './request-order.ts';
import { isOwnFault } from './wire-error.ts';

export interface RunnerWorld {
  readonly tasks: LongTasks;
  /** False while replies pile up, so that no further reads should begin. */
  readonly mayRead: () => boolean;
  answer(ticket: Ticket, reply: ReadyReply): void;
  fail(ticket: Ticket, error: unknown): void;
  /** For what is this side's own trouble. */
  failed(error: unknown): void;
}

/** A request that was understood. */
class Accepted extends Ordered {
  readonly ticket: Ticket;
  readonly job: Job;

  constructor(ticket: Ticket, job: Job) {
    super(job.order);
    this.ticket = ticket;
    this.job = job;
  }
}

/** Carries out the requests of one connection, each when it may begin, and answers them. */
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

  /** Begins what can begin now. */
  advance(): void {
    this.#order.advance();
  }

  /** Nothing begins any more. What is under way goes on. */
  stop(): void {
    this.#order.stop();
  }

  #begin(request: Accepted): void {
    if (request.ticket.isOver) {
      this.#order.end(request);
      return;
    }
    try {
      // Not an async function around it: its promise and another step were a part of every append's time.
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
    // Whatever would follow a reply that came too late must not come either.
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
