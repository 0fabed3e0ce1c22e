import type { Io } from '../../engine/io.ts';
import { migrateEntry } from '../entries/migrate-entry.ts';
import { isHeader } from '../entries/session-entry.ts';
import { withFile } from './open-session-file.ts';
import { parseLine } from './parse-line.ts';
import { readForward } from './read-lines.ts';

/**
 * The ids of the entries in a session file. The file is read once, and then only its new end, whichever process wrote
 * that.
 */
export class EntryIds {
  readonly #io: Io;
  readonly #ids = new Set<string>();
  #file = '';
  #to = 0;
  #index = 0;
  #version: number | undefined;

  constructor(io: Io) {
    this.#io = io;
  }

  async has(file: string, id: string): Promise<boolean> {
    await this.#read(file);
    return this.#ids.has(id);
  }

  #read(path: string): Promise<void> {
    return withFile(this.#io, path, 'read', async (file) => {
      const size = await file.size();
      // In another file, and in a file that was cut, nothing is at its old place.
      if (path !== this.#file || size < this.#to)
        [this.#file, this.#to, this.#index] = [path, 0, 0];
      for await (const line of readForward(file, this.#to, size)) {
        if (!line.terminated) break;
        this.#to = line.end;
        for (const record of line.bytes === undefined ? [] : parseLine(line.bytes).records) {
          if (isHeader(record)) {
            this.#version ??= record.version;
            continue;
          }
          this.#index++;
          this.#ids.add(migrateEntry(record, { version: this.#version, index: this.#index }).id);
        }
      }
    });
  }
}
