import { setImmediate } from 'node:timers/promises';
import { toLine, sumOf } from '../events/event-line.ts';
import type { QueueEvent } from '../events/queue.ts';
import type { IdRange } from '../events/scan.ts';
import { mirrorEnd, mirroredEvents } from './event-mirror.ts';
import type { QueueFolder } from './queue-folder.ts';
import type { EventTable } from './event-table.ts';
import type { StoredEvent } from './open-database.ts';

/**
 * Returns whether the mirror knows of events that the database lacks: lines are written after the commit, never before.
 */
export function isBehindMirror(folder: QueueFolder, table: EventTable): boolean {
  // This reads the mirror first: events that are pushed meanwhile must not look lost.
  const end = mirrorEnd(folder);
  return end > table.newestId();
}

/**
 * Takes missing or damaged events of the database from the mirror, and returns their number. A damaged event is
 * replaced when its checksum proves the line. It gets its checksum back when the line says the same as the row. A
 * missing event is taken as it is.
 */
export function mendEvents(folder: QueueFolder, table: EventTable): number {
  return table.exclusively(() => {
    const newest = table.newestId();
    const { damaged, missing } = checkEventsNow(table);
    const isDamaged = new Set(damaged);
    const isMissing = (id: number): boolean =>
      id > newest || missing.some(({ after, through }) => id > after && id <= through);
    let last = newest;
    let mended = 0;
    for (const { event, sum } of mirroredEvents(
      folder,
      (id) => isMissing(id) || isDamaged.has(id),
    )) {
      const { id } = event;
      const row = isDamaged.has(id)
        ? [...table.stored({ after: id - 1, through: id })][0]
        : undefined;
      // Past the newest event, ids must follow one another: an id in a damaged line is no reason for a gap.
      if (row === undefined ? id > last + 1 : !isProved(row, event, sum)) continue;
      table.restore([event]);
      last = Math.max(last, id);
      mended += 1;
    }
    return mended;
  });
}

function isProved({ sum, ...row }: StoredEvent, event: QueueEvent, lineSum: number): boolean {
  return sum === lineSum || toLine(row) === toLine(event);
}

/** The damage found in the events of a queue. */
interface EventDamage {
  /** Events whose content differs from what was pushed. */
  readonly damaged: readonly number[];
  /** Events that are absent and not recorded as lost. */
  readonly missing: readonly IdRange[];
}

/** Reading this many events takes about 40 ms. */
const STRETCH = 20_000;

/** Reads every event, and yields the thread between stretches. */
export async function checkEvents(table: EventTable): Promise<EventDamage> {
  const steps = checkSteps(table);
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    await setImmediate();
  }
}

/** Like `checkEvents`, but synchronous, for a caller that holds the write lock. */
export function checkEventsNow(table: EventTable): EventDamage {
  const steps = checkSteps(table);
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

function* checkSteps(table: EventTable): Generator<undefined, EventDamage, undefined> {
  const newest = table.newestId();
  const losses = table.losses();
  const damaged: number[] = [];
  const missing: IdRange[] = [];
  const miss = (after: number, through: number): void => {
    const before = missing.at(-1);
    if (before?.through === after) missing[missing.length - 1] = { ...before, through };
    else missing.push({ after, through });
  };
  /** The table has no row after `after` up to `through`. */
  const passOver = (after: number, through: number): void => {
    let from = after;
    for (const loss of losses) {
      if (loss.through <= from || loss.after >= through) continue;
      if (loss.after > from) miss(from, loss.after);
      from = Math.max(from, loss.through);
    }
    if (from < through) miss(from, through);
  };
  // Another program inserted the events at the end that have no checksum. A later event of ours would have sealed them.
  let unsealed: number[] = [];
  for (let after = 0; after < newest; after += STRETCH) {
    const through = Math.min(newest, after + STRETCH);
    let last = after;
    for (const { sum, ...event } of table.stored({ after, through })) {
      passOver(last, event.id - 1);
      last = event.id;
      if (sum === null) unsealed.push(event.id);
      else {
        damaged.push(...unsealed);
        unsealed = [];
        if (sum !== sumOf(event)) damaged.push(event.id);
      }
    }
    passOver(last, through);
    yield;
  }
  return { damaged, missing };
}
