import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { FILE_LINES_MAX } from '../events/check-input.ts';
import { putAside, type QueueFolder } from './queue-folder.ts';
import type { QueueDatabase } from './queue-database.ts';

declare const brand: unique symbol;
/** The level and the text of a line, without its time. */
export type LogLine = string & { readonly [brand]: 'LogLine' };

/** Lines of pushes wait this long for more of them: the file is opened once for all. */
const LATER_MS = 50;
const LATER_LINES = 64;

/**
 * logs/thread.log: a record of what happened, for people. A failure to log never fails the operation that is logged.
 */
export class RuntimeLog {
  readonly #folder: QueueFolder;
  readonly #database: QueueDatabase;
  readonly #now: () => number;
  #waiting: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(folder: QueueFolder, database: QueueDatabase, now: () => number) {
    this.#folder = folder;
    this.#database = database;
    this.#now = now;
  }

  /** Counts the lines in the database first, because nobody reads the file to count them. */
  write(...lines: readonly LogLine[]): void {
    if (lines.length === 0) return;
    this.count(lines.length);
    this.writeCounted(...lines);
  }

  /** Counts lines that were written before. */
  count(lines: number): void {
    try {
      this.#database.exclusively(() => this.#database.addLines('thread.log', lines));
    } catch {
      // The event to log may be the very reason why this failed. The file is then longer than the database knows.
    }
  }

  /** Writes the line soon, or when the queue is closed. For lines that were counted together with something else. */
  writeLater(line: LogLine): void {
    this.#waiting.push(toText(line, this.#now()));
    if (this.#waiting.length >= LATER_LINES) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), LATER_MS).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.writeCounted();
  }

  /** For lines that were counted together with something else. */
  writeCounted(...lines: readonly LogLine[]): void {
    const atMs = this.#now();
    const written = [...this.#waiting, ...lines.map((line) => toText(line, atMs))];
    this.#waiting = [];
    if (written.length === 0) return;
    try {
      if (this.#database.lines('thread.log') > FILE_LINES_MAX + written.length) {
        this.#rotate(written.length);
      }
    } catch {
      // The reason is the same as in `count`.
    }
    append(this.#folder, written.join(''));
  }

  #rotate(counted: number): void {
    this.#database.exclusively(() => {
      // Another process may have been faster.
      if (this.#database.lines('thread.log') <= FILE_LINES_MAX + counted) return;
      putAside(this.#folder.log, this.#now());
      this.#database.setLines('thread.log', counted);
    });
  }
}

/** For lines about a queue whose database cannot be used. */
export function logUncounted(folder: QueueFolder, line: LogLine, nowMs: number): void {
  append(folder, toText(line, nowMs));
}

function append(folder: QueueFolder, text: string): void {
  try {
    // Creates only this level: a queue that was deleted must not come back as an empty folder.
    if (!existsSync(folder.logs)) mkdirSync(folder.logs, 0o700);
    appendFileSync(folder.log, text, { mode: 0o600 });
  } catch {
    // The disk is full, or the folder is gone: there is nowhere to say so.
  }
}

function toText(line: LogLine, atMs: number): string {
  return `[${new Date(atMs).toISOString()}] ${line}\n`;
}

/** Most lines have no such character. This test finds that out faster without Unicode's classes. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/;

/** Text that others wrote, such as the output of a handler, must not look like lines of this log. */
function toLine(level: string, text: string): LogLine {
  const line = CONTROLS.test(text)
    ? text.replaceAll(/\p{Cc}/gu, (char) => (char === '\n' ? '\\n' : ' '))
    : text;
  return `[${level}] ${line}` as LogLine;
}

export const info = (text: string): LogLine => toLine('INFO', text);
export const warn = (text: string): LogLine => toLine('WARN', text);
export const failure = (text: string): LogLine => toLine('ERROR', text);
