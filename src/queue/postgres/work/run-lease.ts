import { tmpdir } from 'node:os';
import type { Database } from '../../../postgres/database.ts';
import type { ProcessMark } from '../../dispatch/process-life.ts';
import { pauseMs } from '../../dispatch/retry-policy.ts';
import type { RetryPolicy } from '../../dispatch/retry-policy.ts';
import { killHandler, runHandler } from '../../dispatch/run-handler.ts';
import type { HandlerEnd } from '../../dispatch/run-handler.ts';
import { parseFilter } from '../../filter/parse-filter.ts';
import type { WorkNote } from '../../queue.ts';
import { findPending } from '../../scan.ts';
import { knownOf } from '../consumer-table.ts';
import { EventTable } from '../event-table.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import type { Lease, LeasedRow, Leases } from './lease-table.ts';

// Runs the handler of one consumer for as long as there is something to do, under one lease.
// Invariants
// - The handler and all that it started have ended before the lease is released. When the lease is lost they are killed
//   before its lifetime is over, and when this process is killed they go with it.
// - A release never relies on the belief that there is nothing to do: the worker that released looks once more.

const ERROR_CHARS = 500;

export interface LeaseWorld {
  readonly database: Database;
  readonly leases: Leases;
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
  world: LeaseWorld,
  lease: Lease,
  askedAt: number,
): Promise<number | undefined> {
  const { leases, leaseMs } = world;
  const keeper = new LeaseKeeper(() => leases.renew(lease, leaseMs), leaseMs, askedAt);
  try {
    for (;;) {
      const before = await leases.read(lease);
      if (before === undefined || keeper.lost.aborted) return lose(world, lease);
      if (before.handler_cmd === null) break;
      const end = await runOnce(world, lease, before.handler_cmd, keeper.lost);
      if (keeper.lost.aborted) return lose(world, lease);
      if (world.killing.aborted && !end.ok) break;
      const after = await leases.read(lease);
      if (after === undefined) return lose(world, lease);
      if (!end.ok) return await fail(world, lease, { before, after, end });
      note(world, lease, 'ended', end.how);
      if (!world.stopping.aborted && (await hasMore(world, lease, { before, after }))) continue;
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
  world: LeaseWorld,
  lease: Lease,
  command: string,
  lost: AbortSignal,
): Promise<HandlerEnd> {
  const { queue, consumer_id, fence } = lease;
  const env = {
    ...world.env,
    QUIPU_QUEUE: queue,
    QUIPU_CONSUMER: consumer_id,
    QUIPU_FENCE: String(fence),
    THREAD_CONSUMER: consumer_id,
  };
  let mark: ProcessMark | undefined;
  const kill = (): void => {
    if (mark !== undefined) killHandler(mark);
  };
  const signal = AbortSignal.any([lost, world.killing]);
  signal.addEventListener('abort', kill, { once: true });
  const { guarded } = world;
  const handler = { command, folder: tmpdir(), env, guarded };
  const end = await runHandler(handler, (started) => {
    mark = started;
    note(world, lease, 'started', command);
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
  { database }: LeaseWorld,
  { queue }: Lease,
  { before, after }: Round,
): Promise<boolean> {
  const events = new EventTable(database, queue);
  const filter = after.filter === null ? undefined : parseFilter(after.filter);
  const { first } = await findPending(events, filter, knownOf(after), Infinity);
  if (first === undefined || after.last_acked_id !== before.last_acked_id) {
    return first !== undefined;
  }
  const news = { after: before.last_id, through: await events.newestId() };
  return (await events.firstMatch(news, filter)) !== undefined;
}

async function fail(
  world: LeaseWorld,
  lease: Lease,
  { before, after, end }: Round & { readonly end: HandlerEnd },
): Promise<number | undefined> {
  const progressed = after.last_acked_id !== before.last_acked_id;
  const failures = progressed ? 1 : before.failures + 1;
  // A consumer that is marked failed has one try; the result of that try decides.
  const failed = (before.failed && !progressed) || failures >= world.retry.attempts;
  const text = end.output === '' ? end.how : `${end.how}: ${end.output}`;
  const retryInMs = failed ? null : pauseMs(world.retry, failures);
  await world.leases.release(lease, {
    failures,
    failed,
    lastError: text.slice(0, ERROR_CHARS),
    retryInMs,
    waitsAfter: failed ? before.last_id : 0,
  });
  const next = retryInMs === null ? 'marked failed, events wait' : `again in ${retryInMs} ms`;
  note(world, lease, 'failed', `${text}; ${next}`);
  return retryInMs ?? undefined;
}

function lose(world: LeaseWorld, lease: Lease): undefined {
  note(world, lease, 'lost', 'another worker has the lease, or will have it');
}

function note(
  world: LeaseWorld,
  { queue, consumer_id }: Lease,
  what: WorkNote['what'],
  text: string,
): void {
  world.note({ queue, consumer: consumer_id, what, text });
}
