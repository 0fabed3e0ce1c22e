import { checkEventsNow } from './check-events.ts';
import { toLine } from './event-line.ts';
import { mirrorEnd, mirroredEvents } from './files/mirror-lines.ts';
import type { QueueFolder } from './folder.ts';
import type { QueueEvent } from './queue.ts';
import type { EventTable, StoredEvent } from './sqlite/event-table.ts';

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
      const row = isDamaged.has(id) ? findRow(table, id) : undefined;
      // Past the newest event, ids must follow one another: an id in a damaged line is no reason for a gap.
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
