import { QuipuError, invalid, isQuipuError } from '../base/errors.ts';
import { checkEvent } from '../queue/check-input.ts';
import { BATCH_BYTES_MAX, BATCH_EVENTS_MAX, CONTENT_BYTES_MAX } from '../queue/limits.ts';
import type { NewEvent } from '../queue/queue.ts';
import { namingLine, parseJsonLine } from './parse-json-line.ts';
import { readLineGroups } from './read-lines.ts';

/** JSON escapes make a line longer than its content. */
const LINE_BYTES_MAX = CONTENT_BYTES_MAX + (1 << 20);
const NEEDED = ['source', 'type', 'content'];
/** These include the fields that `pop` and `peek` print: an event that is pushed again gets its own id and time. */
const KNOWN = new Set([...NEEDED, 'subtype', 'id', 'created_at']);

/** Reads events from lines of JSON. An error names the first wrong line by its number. Blank lines do not count. */
export async function readEvents(source: AsyncIterable<Uint8Array>): Promise<NewEvent[]> {
  const events: NewEvent[] = [];
  let number = 0;
  let bytes = 0;
  try {
    for await (const lines of readLineGroups(source, LINE_BYTES_MAX)) {
      for (const line of lines) {
        number += 1;
        bytes += line.length;
        const event = toEvent(line, number);
        if (event !== undefined) events.push(event);
      }
      assertAtMost(BATCH_EVENTS_MAX, events.length, 'events');
      assertAtMost(BATCH_BYTES_MAX, bytes, 'bytes');
    }
  } catch (error) {
    // A line that is too long is found before it is complete.
    if (!isQuipuError(error, 'TOO_LARGE') || error.data.what !== 'line') throw error;
    const message = `line ${number + 1}: ${error.message}`;
    throw new QuipuError(error.code, message, error.data, { cause: error });
  }
  return events;
}

function toEvent(line: Uint8Array, number: number): NewEvent | undefined {
  const value = parseJsonLine(line, number);
  if (value === undefined) return undefined;
  const wrong = findWrong(value);
  if (wrong !== undefined) throw invalid(`line ${number}`, wrong);
  const event = value as NewEvent;
  namingLine(number, () => checkEvent(event));
  return event;
}

/** Returns the reason why a value cannot be an event at first sight. */
function findWrong(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'is not a JSON object';
  const missing = NEEDED.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `has no "${missing}"`;
  const unknown = Object.keys(value).find((name) => !KNOWN.has(name));
  return unknown === undefined ? undefined : `has an unknown field ${JSON.stringify(unknown)}`;
}

function assertAtMost(limit: number, size: number, unit: string): void {
  if (size <= limit) return;
  throw new QuipuError('TOO_LARGE', `a batch has at most ${limit} ${unit}`, {
    what: 'batch',
    limit,
    size,
  });
}
