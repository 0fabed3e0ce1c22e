import { checkWhole } from '../../../base/check-value.ts';
import { invalid } from '../../../base/errors.ts';
import { checkConsumer, checkQueueName } from '../../events/check-input.ts';
import type { WorkOptions } from '../../events/queue.ts';

const JOBS_DEFAULT = 4;
const JOBS_MAX = 1000;
const LEASE_MS_DEFAULT = 15_000;
const LEASE_MS_MIN = 500;
const LEASE_MS_MAX = 3_600_000;

export interface CheckedWork extends Required<Omit<WorkOptions, 'queues' | 'consumers'>> {
  readonly queues: ReadonlySet<string> | undefined;
  readonly consumers: ReadonlySet<string> | undefined;
}

/** Throws INVALID for options that make no sense. */
export function checkWork(given: WorkOptions): CheckedWork {
  const { once = false, jobs = JOBS_DEFAULT, leaseMs = LEASE_MS_DEFAULT, env = {} } = given;
  checkWhole(jobs, 'jobs', 1, JOBS_MAX);
  checkWhole(leaseMs, 'leaseMs', 1, LEASE_MS_MAX);
  if (leaseMs < LEASE_MS_MIN) throw invalid('leaseMs', `must be at least ${LEASE_MS_MIN}`);
  return {
    queues: toSet(given.queues, checkQueueName),
    consumers: toSet(given.consumers, checkConsumer),
    once,
    jobs,
    leaseMs,
    signal: given.signal ?? new AbortController().signal,
    env,
    note: given.note ?? (() => undefined),
  };
}

function toSet(
  names: readonly string[] | undefined,
  check: (name: unknown) => string,
): Set<string> | undefined {
  return names === undefined ? undefined : new Set(names.map(check));
}
