import { isQuipuError } from '../../base/errors.ts';
import { nextTime, parseCron } from '../cron/cron.ts';
import { openZone } from '../cron/zone.ts';
import type { Timer } from '../spool/records.ts';

interface Entry {
  readonly timer: Timer;
  nextAt: number;
}

/** The next due time of each timer. Times that pass while no daemon runs are not made up for. */
export class TimerTable {
  #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /** The due time of the first timer, if any. */
  get nextAt(): number | undefined {
    const times = [...this.#entries.values()].map(({ nextAt }) => nextAt);
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
  }

  /** Replaces the list. A timer that was there before and did not change keeps its next time. */
  load(timers: readonly Timer[], nowMs: number): void {
    const entries = new Map<string, Entry>();
    for (const timer of timers) {
      const old = this.#entries.get(timer.id);
      if (old !== undefined && JSON.stringify(old.timer) === JSON.stringify(timer)) {
        entries.set(timer.id, old);
        continue;
      }
      const nextAt = timeAfter(timer, nowMs);
      if (nextAt !== undefined) entries.set(timer.id, { timer, nextAt });
    }
    this.#entries = entries;
  }

  /** Returns the timers that are due, each once however late it is, and moves them to their next time. */
  takeDue(nowMs: number): Timer[] {
    const due = [...this.#entries.values()].filter(({ nextAt }) => nextAt <= nowMs);
    for (const entry of due) {
      const nextAt = timeAfter(entry.timer, nowMs);
      if (nextAt === undefined) this.#entries.delete(entry.timer.id);
      else entry.nextAt = nextAt;
    }
    return due.map(({ timer }) => timer);
  }
}

/** Returns undefined for a cron line that names no time, or cannot be read: it was checked when it was added. */
export function timeAfter(timer: Timer, afterMs: number): number | undefined {
  try {
    return nextTime(parseCron(timer.cron), openZone(timer.zone), afterMs);
  } catch (error) {
    if (isQuipuError(error, 'INVALID')) return undefined;
    throw error;
  }
}
