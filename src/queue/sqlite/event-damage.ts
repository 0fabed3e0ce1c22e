import { QuipuError, isQuipuError } from '../../base/errors.ts';
import type { IdRange } from '../scan.ts';

// Errors for events that differ from what was pushed, and for missing events.

export function damagedEvent(id: number): QuipuError<'CORRUPT'> {
  return corrupt(`event ${id} is damaged`);
}

/** `after`, `through`: the range that was searched. */
export function missingEvents({ after, through }: IdRange): QuipuError<'CORRUPT'> {
  return corrupt(`of the events ${after + 1} to ${through} some are missing`);
}

function corrupt(what: string): QuipuError<'CORRUPT'> {
  const message = `${what} in events.db, and not in events.jsonl; verify --repair says what is lost, and goes on without it`;
  return new QuipuError('CORRUPT', message, { file: 'events.db', offset: 0 });
}

/** Returns whether the error is one of these, which the mirror may repair. An error from SQLite itself has a cause. */
export function isEventDamage(error: unknown): boolean {
  return isQuipuError(error, 'CORRUPT') && error.cause === undefined;
}
