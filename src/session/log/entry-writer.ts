import { isFields } from '../../base/fields.ts';
import { randomBytes } from 'node:crypto';
import {
  QuipuError,
  exists,
  invalid,
  isQuipuError,
  tooLarge,
  notFound,
  messageOf,
} from '../../base/errors.ts';
import { OneAtATime } from '../../base/one-at-a-time.ts';
import { checkString, encodeUtf8, kindOf } from '../../base/text.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { referencesIn, type BlobToPut, persistEntry } from '../entries/pictures.ts';
import { toLine, type NewEntry, type SessionEntry } from '../entries/session-entry.ts';
import { coverFile } from '../files/file-sums.ts';
import { lockOf, tornFileOf } from '../files/session-names.ts';
import { toFileError, withFileLock, withOpen, writeAll } from '../files/write-file.ts';
import {
  LINE_BYTES_MAX,
  parseLine,
  readBackward,
  readEntryLines,
  readForward,
  withFile,
} from './session-file.ts';

// Writes entries to the file.
// Invariants
// - Blobs are durable before the line that refers to them is written, and so is the note of the reference.
// - Lines are written in the order of the calls, under the session's lock, at the end of the file as it is then. Lines
//   that another process wrote meanwhile stay, and come before.
// - A failure is reported once, to the callers that waited. The lines stay, and go first the next time.

/** The number of entries that may wait for a disk that accepts no write. */
const PENDING_MAX = 10_000;

interface EntryWriterOptions {
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

/** An entry on its way to the file. */
interface Waiting {
  readonly id: string;
  readonly line: string;
  readonly blobs: readonly BlobToPut[];
}

export class EntryWriter {
  readonly #options: EntryWriterOptions;
  readonly #waiting: Waiting[] = [];
  readonly #ids: EntryIds;
  readonly #turns: OneAtATime<'accept' | 'write'> = new OneAtATime();
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
    const entry = await this.#turns.run('accept', () => this.#accept(given));
    await this.flush();
    return entry;
  }

  /** Throws NOT_FOUND for an entry that is not there. */
  setLeaf(id: string | null): Promise<void> {
    return this.#turns.run('accept', async () => {
      if (id !== null && !(await this.#isThere(id))) throw noEntry(id);
      this.leaf = id;
    });
  }

  /** In the order of the calls: each entry builds on the leaf that the one before it made. */
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
      throw exists('entry', id, `the session has an entry ${id} already; choose another id`);
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
    return this.#turns.run('write', () => this.#drain());
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
    return this.#turns.run('write', task);
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
  async #write(lines: readonly Waiting[]): Promise<number> {
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
    if (!isFields(given)) {
      throw invalid('entry', `must be an object, got ${kindOf(given)}`);
    }
    if (typeof given.type !== 'string' || given.type === '' || given.type === 'session') {
      throw invalid('type', 'must be a text such as "message", and not "session"');
    }
    const { id = randomBytes(8).toString('hex'), parentId = this.leaf } = given;
    if (typeof id !== 'string' || id === '')
      throw invalid('id', 'must be a text that is not empty');
    if (parentId !== null) checkString(parentId, 'parentId');
    const timestamp = checkString(given.timestamp ?? this.#options.now(), 'timestamp');
    const entry = { ...given, id, parentId, timestamp };
    return this.#options.redact?.(entry) ?? entry;
  }

  #toWaiting(entry: SessionEntry): Waiting {
    const isKept = this.#options.putBlobs === undefined;
    const { entry: written, blobs } = isKept ? { entry, blobs: [] } : persistEntry(entry);
    const line = toJsonLine(written);
    const limit = Math.floor(LINE_BYTES_MAX / 3);
    if (line.length > limit) {
      throw tooLarge(
        'entry',
        limit,
        line.length,
        `entry has ${line.length} characters when written`,
      );
    }
    return { id: entry.id, line, blobs };
  }
}

function noEntry(id: string): QuipuError<'NOT_FOUND'> {
  return notFound('entry', id, `there is no entry ${id}`);
}

function toJsonLine(entry: SessionEntry): string {
  try {
    return toLine(entry);
  } catch (error) {
    throw invalid('entry', `cannot be written as JSON: ${messageOf(error)}`);
  }
}

/**
 * Appends whole lines to a session file, durably, and returns its new size. The caller holds the session's lock. Bytes
 * that a crash cut short are taken away first, so that no line is ever glued to half of another. Lines that a failed
 * attempt did write, from `knownSize` on, are not written twice.
 */
async function appendLines(
  io: Io,
  path: string,
  { lines, knownSize }: { lines: readonly Waiting[]; knownSize: number },
): Promise<number> {
  const append = async (file: IoFile): Promise<number> => {
    const size = await repairTail(io, path, file);
    const span = { from: Math.min(knownSize, size), to: size };
    const there = await findLines(file, span, new Set(lines.map(({ line }) => line)));
    const missing = lines.filter(({ line }) => !there.has(line));
    if (missing.length === 0) return size;
    const bytes = encodeUtf8(missing.map(({ line }) => `${line}\n`).join(''));
    try {
      await writeAll(file, bytes, size);
      await file.sync();
    } catch (error) {
      // If bytes are left after this, the next attempt finds them and passes over them.
      await file.truncate(size).catch(() => undefined);
      throw toFileError(error, path);
    }
    return size + bytes.length;
  };
  return withFile(io, path, append, 'write');
}

/** Returns the size up to which the file is made of whole lines, after setting the rest aside. */
async function repairTail(io: Io, path: string, file: IoFile): Promise<number> {
  const size = await file.size();
  if (size === 0) return 0;
  const last = Buffer.alloc(1);
  await file.read(last, size - 1);
  if (last[0] === 0x0a) return size;
  for await (const line of readBackward(file, size)) {
    if (!parseLine(line.bytes).malformed) break;
    await keepTorn(io, path, line.bytes ?? Buffer.alloc(0));
    await file.truncate(line.start);
    await file.sync();
    return line.start;
  }
  await writeAll(file, Buffer.from('\n'), size);
  return size + 1;
}

async function keepTorn(io: Io, path: string, bytes: Uint8Array): Promise<void> {
  await withOpen(io, tornFileOf(path), 'create', async (aside) => {
    await writeAll(aside, Buffer.concat([bytes, Buffer.from('\n')]), await aside.size());
    await aside.sync();
  });
}

/** Returns those of these lines that stand in a part of the file, byte for byte. */
async function findLines(
  file: IoFile,
  { from, to }: { readonly from: number; readonly to: number },
  wanted: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for await (const { bytes } of readForward(file, from, to)) {
    const text = bytes === undefined ? '' : Buffer.from(bytes).toString('utf8');
    if (wanted.has(text)) found.add(text);
  }
  return found;
}

/**
 * The ids of the entries in a session file. The file is read once, and then only its new end, whichever process wrote
 * that.
 */
class EntryIds {
  readonly #io: Io;
  readonly #ids = new Set<string>();
  #file = '';
  #to = 0;
  #count = 0;
  #version: number | undefined;

  constructor(io: Io) {
    this.#io = io;
  }

  async has(file: string, id: string): Promise<boolean> {
    await this.#read(file);
    return this.#ids.has(id);
  }

  #read(path: string): Promise<void> {
    return withFile(this.#io, path, async (file) => {
      const size = await file.size();
      // In another file, and in a file that was cut, nothing is at its old place.
      if (path !== this.#file || size < this.#to)
        [this.#file, this.#to, this.#count] = [path, 0, 0];
      const span = { from: this.#to, to: size, count: this.#count, version: this.#version };
      for await (const { terminated, entries, end, count, version } of readEntryLines(file, span)) {
        if (!terminated) break;
        [this.#to, this.#count, this.#version] = [end, count, version];
        for (const { id } of entries) this.#ids.add(id);
      }
    });
  }
}
