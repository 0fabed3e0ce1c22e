import type { Database, Statement } from 'better-sqlite3';
import type { CheckedEvent } from '../check-input.ts';
import { LineEncoder } from '../event-line.ts';

/** The number of rows in one statement: a statement for each row takes half as long again. */
const ROWS = 200;
/** Beyond this size, lines are not kept in memory beside their events. */
const LINES_BYTES_MAX = 64 << 20;

type Value = string | number | null;

/** The result of an insert. Ids follow one another. */
export interface Inserted {
  readonly firstId: number;
  readonly lastId: number;
  /** The lines of the first events, as they are written to the mirror, and the number of these events. */
  readonly lines: readonly Buffer[];
  readonly lined: number;
}

export class EventInserter {
  readonly #one: Statement;
  readonly #many: Statement;

  constructor(database: Database) {
    const insert = 'INSERT INTO events (created_at, source, type, subtype, content, sum) VALUES ';
    const row = '(?, ?, ?, ?, ?, ?)';
    this.#one = database.prepare(insert + row);
    this.#many = database.prepare(insert + Array(ROWS).fill(row).join(', '));
  }

  /** Call this inside a transaction. The new events follow the event with the id `newest`. */
  insert(events: readonly CheckedEvent[], createdAt: string, newest: number): Inserted {
    const lines = new LineEncoder(LINES_BYTES_MAX, events.length);
    let last = newest;
    let values: Value[] = [];
    const flush = (statement: Statement): void => {
      last = Number(statement.run(values).lastInsertRowid);
      values = [];
    };
    const odd = events.length % ROWS;
    let done = 0;
    for (const { source, type, subtype, content } of events) {
      done += 1;
      const event = { id: newest + done, created_at: createdAt, source, type, subtype, content };
      values.push(createdAt, source, type, subtype, content, lines.add(event));
      if (done <= odd) flush(this.#one);
      else if ((done - odd) % ROWS === 0) flush(this.#many);
    }
    if (last !== newest + events.length) throw new TypeError('events got ids that are not theirs');
    return { firstId: newest + 1, lastId: last, lines: lines.chunks, lined: lines.kept };
  }
}
