import { tmpdir } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { Database } from '../../../postgres/database.ts';
import {
  afterFailure,
  killHandler,
  runHandler,
  type ProcessMark,
  type RetryPolicy,
  type HandlerEnd,
} from '../../dispatch/run-handler.ts';
import type { WorkNote } from '../../events/queue.ts';
import { findPending } from '../../events/scan.ts';
import { readFilter } from '../../filter/parse-filter.ts';
import { knownOf, type Lease, type LeasedRow, type LeaseTable } from '../tables/consumer-table.ts';
import { EventTable } from '../tables/event-table.ts';

// Runs the handler of one consumer for as long as there is something to do, under one lease.
// Invariants
// - The handler and all that it started have ended before the lease is released. When the lease is lost they are killed
//   before its lifetime is over, and when this process is killed they go with it.
// - A release never relies on the belief that there is nothing to do: the worker that released looks once more.

interface RunSetup {
  readonly database: Database;
  readonly leases: LeaseTable;
  readonly leaseMs: number;
  readonly retry: RetryPolicy;
  readonly env: Readonly<Record<string, string>>;
  readonly note: (note: WorkNote) => void;
  /** Whether handlers die with this process. */
  readonly guarded: boolean;
  /** Aborted: start no further run. */
  readonly stopping: AbortSignal;
  /** Aborted: kill the running handler. */
  readonly killing: AbortSignal;
}

/**
 * `askedAt`: the time of the request for the lease, by `performance.now`. Resolves with the time to wait before the
 * next try of the consumer, if there is one.
 */
export async function runLease(
  setup: RunSetup,
  lease: Lease,
  askedAt: number,
): Promise<number | undefined> {
  const { leases, leaseMs } = setup;
  const keeper = new LeaseKeeper(() => leases.renew(lease, leaseMs), leaseMs, askedAt);
  try {
    for (;;) {
      const before = await leases.read(lease);
      if (before === undefined || keeper.lost.aborted) return lose(setup, lease);
      if (before.handler_cmd === null) break;
      const end = await runOnce(setup, lease, before.handler_cmd, keeper.lost);
      if (keeper.lost.aborted) return lose(setup, lease);
      if (setup.killing.aborted && !end.ok) break;
      const after = await leases.read(lease);
      if (after === undefined) return lose(setup, lease);
      if (!end.ok) return await fail(setup, lease, { before, after, end });
      note(setup, lease, 'ended', end.how);
      if (!setup.stopping.aborted && (await hasMore(setup, lease, { before, after }))) continue;
      const progressed = after.last_acked_id !== before.last_acked_id;
      // Without progress the same events would come again at once, and for ever. New events are a reason to run.
      const waitsAfter = progressed ? 0 : before.last_id;
      const outcome = { failures: 0, failed: false, lastError: null, retryInMs: null, waitsAfter };
      await leases.release(lease, outcome);
      return undefined;
    }
    await leases.letGo(lease);
    return undefined;
  } finally {
    keeper.stop();
  }
}

async function runOnce(
  setup: RunSetup,
  lease: Lease,
  command: string,
  lost: AbortSignal,
): Promise<HandlerEnd> {
  const { queue, consumer_id, fence } = lease;
  const env = {
    ...setup.env,
    QUIPU_QUEUE: queue,
    QUIPU_CONSUMER: consumer_id,
    QUIPU_FENCE: String(fence),
    THREAD_CONSUMER: consumer_id,
  };
  let mark: ProcessMark | undefined;
  const kill = (): void => {
    if (mark !== undefined) killHandler(mark);
  };
  const signal = AbortSignal.any([lost, setup.killing]);
  signal.addEventListener('abort', kill, { once: true });
  const { guarded } = setup;
  const handler = { command, folder: tmpdir(), env, guarded };
  const end = await runHandler(handler, (started) => {
    mark = started;
    note(setup, lease, 'started', command);
    if (signal.aborted) kill();
  });
  signal.removeEventListener('abort', kill);
  return end;
}

interface Round {
  readonly before: LeasedRow;
  readonly after: LeasedRow;
}

async function hasMore(
  { database }: RunSetup,
  { queue }: Lease,
  { before, after }: Round,
): Promise<boolean> {
  const events = new EventTable(database, queue);
  const filter = readFilter(after.filter);
  const { first } = await findPending(events, filter, knownOf(after), { reach: Infinity });
  if (first === undefined || after.last_acked_id !== before.last_acked_id) {
    return first !== undefined;
  }
  const news = { after: before.last_id, through: await events.newestId() };
  return (await events.firstMatch(news, filter)) !== undefined;
}

async function fail(
  setup: RunSetup,
  lease: Lease,
  { before, after, end }: Round & { readonly end: HandlerEnd },
): Promise<number | undefined> {
  const progressed = after.last_acked_id !== before.last_acked_id;
  const { text, ...run } = afterFailure(end, before, progressed, setup.retry);
  await setup.leases.release(lease, { ...run, waitsAfter: run.failed ? before.last_id : 0 });
  note(setup, lease, 'failed', text);
  return run.retryInMs ?? undefined;
}

function lose(setup: RunSetup, lease: Lease): undefined {
  note(setup, lease, 'lost', 'another worker has the lease, or will have it');
}

function note(
  setup: RunSetup,
  { queue, consumer_id }: Lease,
  what: WorkNote['what'],
  text: string,
): void {
  setup.note({ queue, consumer: consumer_id, what, text });
}

/** A lease is renewed this many times during its lifetime. */
const RENEWALS = 3;
/** After this part of its lifetime without an answer the lease is given up. The rest is for stopping the handler. */
const GIVE_UP = 0.75;

/**
 * Keeps a lease for as long as somebody works under it. The lifetime is counted from the moment of the request to the
 * database, so this process gives the lease up before the database gives it to another.
 */
export class LeaseKeeper {
  readonly #renew: () => Promise<boolean>;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  #renewing: NodeJS.Timeout;
  #deadline: NodeJS.Timeout;
  #isOver = false;

  /** `askedAt`: the time of the request for the lease, by `performance.now`. */
  constructor(renew: () => Promise<boolean>, leaseMs: number, askedAt: number) {
    this.#renew = renew;
    this.#leaseMs = leaseMs;
    this.#deadline = this.#giveUpAfter(askedAt);
    this.#renewing = this.#renewSoon();
  }

  /** Aborted when the lease belongs to another worker, or may soon. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** From now on nobody works under the lease. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#renewing);
    clearTimeout(this.#deadline);
  }

  #giveUpAfter(askedAt: number): NodeJS.Timeout {
    const leftMs = askedAt + this.#leaseMs * GIVE_UP - performance.now();
    return setTimeout(() => this.#lose(), Math.max(0, leftMs));
  }

  #renewSoon(): NodeJS.Timeout {
    return setTimeout(() => void this.#renewOnce(), this.#leaseMs / RENEWALS);
  }

  async #renewOnce(): Promise<void> {
    const askedAt = performance.now();
    try {
      const isMine = await this.#renew();
      if (this.#isOver) return;
      if (!isMine) return this.#lose();
      clearTimeout(this.#deadline);
      this.#deadline = this.#giveUpAfter(askedAt);
    } catch {
      // The next request may be answered. Until then the time runs.
      if (this.#isOver) return;
    }
    this.#renewing = this.#renewSoon();
  }

  #lose(): void {
    this.stop();
    this.#lost.abort();
  }
}
