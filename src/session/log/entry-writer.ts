import { randomBytes } from 'node:crypto';
import { checkString, kindOf } from '../../base/check-text.ts';
import { QuipuError, invalid, isQuipuError } from '../../base/errors.ts';
import type { Io } from '../../engine/io.ts';
import type { BlobToPut } from '../entries/blob-reference.ts';
import { persistEntry } from '../entries/persist-entry.ts';
import { referencesIn } from '../keep/scan-references.ts';
import { toLine } from '../entries/session-entry.ts';
import type { NewEntry, SessionEntry } from '../entries/session-entry.ts';
import { coverFile } from '../sums/file-sums.ts';
import { EntryIds } from './entry-ids.ts';
import { appendLines } from './append-lines.ts';
import type { PendingLine } from './append-lines.ts';
import { LINE_BYTES_MAX } from './read-lines.ts';
import { lockOf } from './session-names.ts';
import { withFileLock } from './with-file-lock.ts';

// Writes entries to the file.
// Invariants
// - Blobs are durable before the line that refers to them is written, and so is the note of the reference.
// - Lines are written in the order of the calls, under the session's lock, at the end of the file as it is then. Lines
//   that another process wrote meanwhile stay, and come before.
// - A failure is reported once, to the callers that waited. The lines stay, and go first the next time.

/** The number of entries that may wait for a disk that accepts no write. */
const PENDING_MAX = 10_000;

export interface EntryWriterOptions {
  readonly io: Io;
  readonly file: string;
  readonly size: number;
  readonly leaf: string | null;
  /** Runs before anything else sees the entry. */
  readonly redact?: ((entry: SessionEntry) => SessionEntry) | undefined;
  /** Undefined: entries are kept as they are, whatever their size. */
  readonly putBlobs?:
    | ((blobs: readonly BlobToPut[], references: readonly string[]) => Promise<void>)
    | undefined;
  /** Finds the current place of the session, for a file that is gone. */
  readonly locate: () => Promise<string | undefined>;
  readonly now: () => string;
}

interface Waiting extends PendingLine {
  readonly blobs: readonly BlobToPut[];
}

export class EntryWriter {
  readonly #options: EntryWriterOptions;
  readonly #waiting: Waiting[] = [];
  readonly #ids: EntryIds;
  #accepting: Promise<unknown> = Promise.resolve();
  #tail: Promise<unknown> = Promise.resolve();
  #knownSize: number;
  file: string;
  leaf: string | null;

  constructor(options: EntryWriterOptions) {
    this.#options = options;
    this.#ids = new EntryIds(options.io);
    this.#knownSize = options.size;
    this.file = options.file;
    this.leaf = options.leaf;
  }

  async append(given: NewEntry): Promise<SessionEntry> {
    const entry = await this.#inOrder(() => this.#accept(given));
    await this.flush();
    return entry;
  }

  /** Throws NOT_FOUND for an entry that is not there. */
  setLeaf(id: string | null): Promise<void> {
    return this.#inOrder(async () => {
      if (id !== null && !(await this.#isThere(id))) throw noEntry(id);
      this.leaf = id;
    });
  }

  /** Runs steps one after the other, in the order of the calls: each builds on the leaf that the one before it made. */
  #inOrder<T>(step: () => Promise<T>): Promise<T> {
    const mine = this.#accepting.then(step, step);
    this.#accepting = mine;
    return mine;
  }

  async #accept(given: NewEntry): Promise<SessionEntry> {
    const entry = this.#complete(given);
    await this.#check(given, entry.id);
    if (this.#waiting.length >= PENDING_MAX) {
      const message = `${this.#waiting.length} entries wait to be written; make room, then flush`;
      throw new QuipuError('UNAVAILABLE', message, { what: 'session' });
    }
    this.#waiting.push(this.#toWaiting(entry));
    this.leaf = entry.id;
    return entry;
  }

  /** A disk that cannot be read refuses nothing: the entry waits, as it does for a disk that cannot be written. */
  async #check(given: NewEntry, id: string): Promise<void> {
    const unknown = (isThere: boolean) => (): boolean => isThere;
    if (given.id !== undefined && (await this.#isThere(id).catch(unknown(false)))) {
      throw invalid('id', `is one that no other entry has, and there is an entry ${id}`);
    }
    const { parentId } = given;
    if (typeof parentId !== 'string') return;
    if (!(await this.#isThere(parentId).catch(unknown(true)))) throw noEntry(parentId);
  }

  async #isThere(id: string): Promise<boolean> {
    if (this.#waiting.some((waiting) => waiting.id === id)) return true;
    await this.follow();
    return this.#ids.has(this.file, id);
  }

  /** Writes run one after the other. Calls that come during a write share the next one. */
  flush(): Promise<void> {
    const mine = this.#tail.then(
      () => this.#drain(),
      () => this.#drain(),
    );
    this.#tail = mine;
    return mine;
  }

  /** Looks up the current place of the session: another process may have moved it. */
  async follow(): Promise<void> {
    const { io, locate } = this.#options;
    if ((await io.stat(this.file)) !== undefined) return;
    this.#go((await locate()) ?? this.file);
  }

  #go(file: string): void {
    if (file === this.file) return;
    this.file = file;
    // The header of this file is another one, so sizes from before mean nothing here.
    this.#knownSize = 0;
  }

  /** Runs `task` once nothing waits, and lets nothing be written until the task is done. */
  async quiet<T>(task: () => Promise<T>): Promise<T> {
    await this.flush();
    const mine = this.#tail.then(task, task);
    this.#tail = mine;
    return mine;
  }

  async #drain(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const lines = [...this.#waiting];
    const blobs = lines.flatMap((line) => line.blobs);
    const references = lines.flatMap(({ line }) => referencesIn(line));
    if (references.length > 0) await this.#options.putBlobs?.(blobs, references);
    this.#knownSize = await this.#write(lines);
    this.#waiting.splice(0, lines.length);
  }

  /** Writes the lines, also to a session that was moved meanwhile. */
  async #write(lines: readonly PendingLine[]): Promise<number> {
    const { io, locate, putBlobs } = this.#options;
    const write = (knownSize: number): Promise<number> =>
      withFileLock(io, lockOf(this.file), async () => {
        const size = await appendLines(io, this.file, { lines, knownSize });
        // The lines are durable. Without checksums, the next reader accepts them as they are.
        if (putBlobs !== undefined) await coverFile(io, this.file).catch(() => undefined);
        return size;
      });
    try {
      return await write(this.#knownSize);
    } catch (error) {
      if (!isQuipuError(error, 'NOT_FOUND')) throw error;
      const file = await locate();
      if (file === undefined || file === this.file) throw error;
      this.#go(file);
      return write(this.#knownSize);
    }
  }

  #complete(given: NewEntry): SessionEntry {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw invalid('entry', `is an object, got ${kindOf(given)}`);
    }
    if (typeof given.type !== 'string' || given.type === '' || given.type === 'session') {
      throw invalid('type', 'is a text such as "message", and not "session"');
    }
    const { id = randomBytes(8).toString('hex'), parentId = this.leaf } = given;
    if (typeof id !== 'string' || id === '') throw invalid('id', 'is a text that is not empty');
    if (parentId !== null) checkString(parentId, 'parentId');
    const timestamp = checkString(given.timestamp ?? this.#options.now(), 'timestamp');
    const entry = { ...given, id, parentId, timestamp };
    return this.#options.redact?.(entry) ?? entry;
  }

  #toWaiting(entry: SessionEntry): Waiting {
    const isKept = this.#options.putBlobs === undefined;
    const { entry: written, blobs } = isKept ? { entry, blobs: [] } : persistEntry(entry);
    const line = toJsonLine(written);
    if (line.length > LINE_BYTES_MAX / 3) {
      const message = `entry has ${line.length} characters when written`;
      const limit = Math.floor(LINE_BYTES_MAX / 3);
      throw new QuipuError('TOO_LARGE', message, { what: 'entry', limit, size: line.length });
    }
    return { id: entry.id, line, blobs };
  }
}

function noEntry(id: string): QuipuError<'NOT_FOUND'> {
  return new QuipuError('NOT_FOUND', `there is no entry ${id}`, { what: 'entry', id });
}

function toJsonLine(entry: SessionEntry): string {
  try {
    return toLine(entry);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw invalid('entry', `cannot be written as JSON: ${reason}`);
  }
}
