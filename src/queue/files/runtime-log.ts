import { appendFileSync, mkdirSync } from 'node:fs';
import type { QueueFolder } from '../folder.ts';
import { FILE_LINES_MAX } from '../limits.ts';
import type { QueueDatabase } from '../sqlite/queue-database.ts';
import { putAside } from './put-aside.ts';

export type LogLevel = 'INFO' | 'WARN' | 'ERROR';

export interface LogLine {
  readonly level: LogLevel;
  readonly text: string;
}

/** logs/thread.log: what happened, for people. It never fails what it tells about. */
export class RuntimeLog {
  readonly #folder: QueueFolder;
  readonly #database: QueueDatabase;
  readonly #now: () => number;

  constructor(folder: QueueFolder, database: QueueDatabase, now: () => number) {
    this.#folder = folder;
    this.#database = database;
    this.#now = now;
  }

  /** Lines that are counted in the database first, as nobody reads the file to count them. */
  write(...lines: readonly LogLine[]): void {
    if (lines.length === 0) return;
    try {
      this.#database.exclusively(() => this.#database.addLines('thread.log', lines.length));
      this.writeCounted(...lines);
    } catch {
      // A full disk, or a folder that is gone: there is nowhere to say so.
    }
  }

  /** Counts lines that were written before. */
  count(lines: number): void {
    try {
      this.#database.exclusively(() => this.#database.addLines('thread.log', lines));
    } catch {
      // As above.
    }
  }

  /** For lines whose number was written with something else. */
  writeCounted(...lines: readonly LogLine[]): void {
    try {
      if (this.#database.lines('thread.log') > FILE_LINES_MAX + lines.length)
        this.#rotate(lines.length);
      this.#append(lines);
    } catch {
      // As above.
    }
  }

  #append(lines: readonly LogLine[]): void {
    const at = new Date(this.#now()).toISOString();
    const text = lines.map((line) => `[${at}] [${line.level}] ${toOneLine(line.text)}\n`).join('');
    try {
      appendFileSync(this.#folder.log, text);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      mkdirSync(this.#folder.logs);
      appendFileSync(this.#folder.log, text);
    }
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

/** What others wrote, such as the output of a handler, must not look like lines of this log. */
function toOneLine(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (char) => (char === '\n' ? '\\n' : ' '));
}

export function info(text: string): LogLine {
  return { level: 'INFO', text };
}

export function warn(text: string): LogLine {
  return { level: 'WARN', text };
}

export function failure(text: string): LogLine {
  return { level: 'ERROR', text };
}
