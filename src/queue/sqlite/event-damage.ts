import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { IdRange } from '../scan.ts';

// Events that are not what was pushed, or not there.

export function damagedEvent(id: number): QuipuError<'CORRUPT'> {
  return corrupt(`event ${id} is damaged`);
}

/** `within`: where they were looked for. */
export function missingEvents({ after, through }: IdRange): QuipuError<'CORRUPT'> {
  return corrupt(`of the events ${after + 1} to ${through} some are missing`);
}

function corrupt(what: string): QuipuError<'CORRUPT'> {
  const message = `${what} in events.db, and not in events.jsonl; verify --repair says what is lost, and goes on without it`;
  return new QuipuError('CORRUPT', message, { file: 'events.db', offset: 0 });
}

/** Whether it is one of these, which the mirror may mend. What SQLite itself could not read has a cause. */
export function isEventDamage(error: unknown): boolean {
  return isQuipuError(error, 'CORRUPT') && error.cause === undefined;
}
