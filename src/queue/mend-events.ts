import { checkEventsNow } from './check-events.ts';
import { toLine } from './event-line.ts';
import { mirrorEnd, mirroredEvents } from './files/mirror-lines.ts';
import type { QueueFolder } from './folder.ts';
import type { QueueEvent } from './queue.ts';
import type { EventTable, StoredEvent } from './sqlite/event-table.ts';

/** Whether the mirror knows of events that the database has not: lines are written after the commit, never before. */
export function isBehindMirror(folder: QueueFolder, table: EventTable): boolean {
  // The mirror first: what is pushed meanwhile must not look as if it were lost.
  const end = mirrorEnd(folder);
  return end > table.newestId();
}

/**
 * Takes from the mirror what is missing or damaged in the database; gives how many events. A damaged one is replaced when
 * its checksum proves the line, and gets its checksum back when the line says the same as the row. One that is missing is
 * taken as it is.
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
      const row = isDamaged.has(id) ? findRow(table, id) : undefined;
      // Past the newest one they must follow one another: an id in a damaged line is no reason for a gap.
      if (row === undefined ? id > last + 1 : !isProved(row, event, sum)) continue;
      table.restore([event]);
      last = Math.max(last, id);
      mended += 1;
    }
    return mended;
  });
}

function findRow(table: EventTable, id: number): StoredEvent | undefined {
  return [...table.stored({ after: id - 1, through: id })][0];
}

function isProved({ sum, ...row }: StoredEvent, event: QueueEvent, lineSum: number): boolean {
  return sum === lineSum || toLine(row) === toLine(event);
}
