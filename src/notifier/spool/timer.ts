import type { Task } from './task.ts';

/** A task that is added at the times a cron line names. */
export interface Timer extends Omit<Task, 'timeoutMs'> {
  readonly cron: string;
  /** The cron line means the clocks of this zone. */
  readonly zone: string;
}

/** Shorter than the id of a task by the prefix that `taskIdOf` adds. */
export const MAX_TIMER_ID_CHARS = 122;
/** More timers are refused: the daemon looks at each of them every second. */
export const MAX_TIMERS = 1000;

/** The id of the tasks that a timer adds: one at a time is pending, however long they wait. */
export function taskIdOf(timer: Timer): string {
  return `timer-${timer.id}`;
}
