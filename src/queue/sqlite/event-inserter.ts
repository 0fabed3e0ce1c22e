import type { Database, Statement } from 'better-sqlite3';
import type { CheckedEvent } from '../check-input.ts';

/** Rows in one statement: a statement for each row takes half as long again. */
const ROWS = 200;

export class EventInserter {
  readonly #one: Statement;
  readonly #many: Statement;

  constructor(database: Database) {
    const insert = 'INSERT INTO events (created_at, source, type, subtype, content) VALUES ';
    const row = '(?, ?, ?, ?, ?)';
    this.#one = database.prepare(insert + row);
    this.#many = database.prepare(insert + Array(ROWS).fill(row).join(', '));
  }

  /** Inside a transaction, so that ids follow one another. */
  insert(events: readonly CheckedEvent[], createdAt: string): number[] {
    let last = 0;
    let done = 0;
    while (events.length - done >= ROWS) {
      const values: (string | null)[] = [];
      for (let at = done; at < done + ROWS; at += 1) addRow(values, events[at], createdAt);
      last = Number(this.#many.run(values).lastInsertRowid);
      done += ROWS;
    }
    for (; done < events.length; done += 1) {
      const values: (string | null)[] = [];
      addRow(values, events[done], createdAt);
      last = Number(this.#one.run(values).lastInsertRowid);
    }
    const first = last - events.length + 1;
    return events.map((_, index) => first + index);
  }
}

function addRow(
  values: (string | null)[],
  event: CheckedEvent | undefined,
  createdAt: string,
): void {
  if (event === undefined) throw new TypeError('an event is missing');
  values.push(createdAt, event.source, event.type, event.subtype, event.content);
}
