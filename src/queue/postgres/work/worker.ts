import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { Bell } from '../../../base/bell.ts';
import { isQuipuError, type ErrorCode } from '../../../base/errors.ts';
import type { Database } from '../../../postgres/database.ts';
import { RETRY_POLICY, type RetryPolicy } from '../../dispatch/run-handler.ts';
import type { CheckedWork } from '../../events/check-input.ts';
import { findPending } from '../../events/scan.ts';
import { readFilter } from '../../filter/parse-filter.ts';
import { ConsumerTable, knownOf, type DueRow, type LeaseTable } from '../tables/consumer-table.ts';
import { EventTable, type QueueRings } from '../tables/event-table.ts';
import { runLease } from './run-lease.ts';

const LOOK_MS = 2000;
/** When the work ends, handlers have this long to end by themselves. */
const GRACE_MS = 10_000;
/** Errors that pass by themselves: a restart, a failover, too many connections at once. */
const AWAY: readonly ErrorCode[] = ['UNAVAILABLE', 'TIMEOUT', 'READ_ONLY'];
/**
 * The number of events to look at for one consumer. A consumer that needs a further look comes again after the others.
 */
const REACH = 100_000;

export interface WorkerSetup {
  readonly database: Database;
  readonly rings: QueueRings;
  readonly leases: LeaseTable;
  readonly retry?: RetryPolicy;
  /** Whether handlers die with this process. Default true. */
  readonly guarded?: boolean;
  /** The longest wait of a consumer whose ring was lost, or whose worker is gone. Default 2 seconds. */
  readonly lookMs?: number;
}

/** Looks for consumers with something to handle, takes a lease for each and runs its handler. */
export class Worker {
  readonly #setup: WorkerSetup;
  readonly #work: CheckedWork;
  readonly #bell = new Bell();
  /** The queues to look at. Undefined: all. */
  #rung: Set<string> | undefined;
  /** The last time the worker looked at all queues. */
  #lookedAt = -Infinity;
  readonly #running = new Map<string, Promise<void>>();
  readonly #retries = new Set<NodeJS.Timeout>();
  readonly #killing = new AbortController();

  constructor(setup: WorkerSetup, work: CheckedWork) {
    this.#setup = setup;
    this.#work = work;
  }

  async run(): Promise<void> {
    const { signal, once } = this.#work;
    const { lookMs = LOOK_MS } = this.#setup;
    const unlisten = this.#setup.rings.listen((queue) => this.#lookAt(queue));
    try {
      while (!signal.aborted) {
        if (performance.now() - this.#lookedAt >= lookMs) this.#rung = undefined;
        const rung = this.#rung;
        this.#rung = new Set();
        if (rung === undefined) this.#lookedAt = performance.now();
        const isWhole = await this.#look(rung).catch((error: unknown) => this.#missed(error));
        if (once && isWhole && this.#running.size === 0 && this.#rung?.size === 0) break;
        // The random part keeps workers from looking all at the same moment.
        const everyMs = lookMs * (1 + Math.random() / 2);
        await this.#bell.wait(everyMs, signal).catch(() => undefined);
      }
    } finally {
      unlisten();
      for (const retry of this.#retries) clearTimeout(retry);
      const grace = setTimeout(() => this.#killing.abort(), GRACE_MS);
      await Promise.allSettled(this.#running.values());
      clearTimeout(grace);
    }
  }

  #lookAt(queue: string | undefined): void {
    if (queue === undefined) this.#rung = undefined;
    else this.#rung?.add(queue);
    this.#bell.ring();
  }

  /** When the database comes back, the worker looks again for everything it missed. */
  #missed(error: unknown): false {
    const isAway = isQuipuError(error) && AWAY.includes(error.code);
    if (this.#work.once || !isAway) throw error;
    this.#rung = undefined;
    return false;
  }

  /** Returns true when nothing was left for later. */
  async #look(rung: ReadonlySet<string> | undefined): Promise<boolean> {
    const { queues } = this.#work;
    const wanted = rung ?? queues;
    const looked = queues === undefined ? wanted : [...queues].filter((name) => wanted?.has(name));
    if (looked === undefined) return this.#lookOver(this.#setup.leases.due());
    let isWhole = true;
    for (const queue of looked) {
      isWhole = (await this.#lookOver(this.#setup.leases.due(queue))) && isWhole;
    }
    return isWhole;
  }

  async #lookOver(rows: AsyncIterable<DueRow>): Promise<boolean> {
    const { consumers, jobs, signal } = this.#work;
    let isWhole = true;
    for await (const row of rows) {
      if (signal.aborted) return false;
      if (consumers !== undefined && !consumers.has(row.consumer_id)) continue;
      if (this.#running.has(keyOf(row))) continue;
      // A run that ends makes the worker look at everything.
      if (this.#running.size >= jobs) return false;
      isWhole = (await this.#tryOne(row).catch((error: unknown) => skip(error))) && isWhole;
    }
    return isWhole;
  }

  /** Returns false when it is not yet known whether there is something to handle. */
  async #tryOne(row: DueRow): Promise<boolean> {
    const { database, leases } = this.#setup;
    const events = new EventTable(database, row.queue);
    const filter = readFilter(row.filter);
    const found = await findPending(events, filter, knownOf(row), { reach: REACH });
    if (found.bookmark !== undefined) {
      await new ConsumerTable(database, row.queue).setBookmark(row, found.bookmark);
    }
    if (found.first === undefined) {
      if (!found.isWhole) this.#lookAt(row.queue);
      return found.isWhole;
    }
    const askedAt = performance.now();
    // The name tells where the holder runs, and is unique.
    const holder = `${hostname()}:${process.pid}:${randomBytes(6).toString('hex')}`;
    const lease = await leases.acquire(row, holder, this.#work.leaseMs);
    if (lease === undefined) return true;
    const { retry = RETRY_POLICY, guarded = true } = this.#setup;
    const signals = { stopping: this.#work.signal, killing: this.#killing.signal };
    const setup = { ...this.#setup, ...this.#work, ...signals, retry, guarded };
    const running = runLease(setup, lease, askedAt)
      .then((retryInMs) => this.#again(row.queue, retryInMs))
      // The lease ends by itself, and then a worker looks.
      .catch(() => undefined)
      .finally(() => {
        this.#running.delete(keyOf(row));
        // A slot is free. The worker now finds the events that came before the release.
        this.#lookAt(undefined);
      });
    this.#running.set(keyOf(row), running);
    return true;
  }

  #again(queue: string, retryInMs: number | undefined): void {
    if (retryInMs === undefined) return;
    const retry = setTimeout(() => {
      this.#retries.delete(retry);
      this.#lookAt(queue);
    }, retryInMs);
    this.#retries.add(retry);
  }
}

/** A filter that cannot be read stops no other consumer. `pop` reports the error in it. */
function skip(error: unknown): true {
  if (isQuipuError(error, 'INVALID')) return true;
  throw error;
}

function keyOf({ queue, consumer_id }: DueRow): string {
  return `${queue}/${consumer_id}`;
}
