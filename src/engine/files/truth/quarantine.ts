import { isFields } from '../../../base/fields.ts';
import type { Problem } from '../../upkeep.ts';
import { syncFile, syncFolder, withFile, writeFully } from '../disk/file-handles.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Found } from './check.ts';
import { isCount } from './state.ts';

// The quarantine holds what a repair set aside: the bytes of damaged records, as they were found, and a list of
// what was known of them. Nothing is removed from the files themselves.
// Invariants
// - A line is in the list only when the copy it names is on the disk.
// - Lines are only added. A line that a crash cut short names nothing, and the next entry starts a new line.
// - Copies stay as they are, except for data that is erased from the store: it becomes zeros here, too.

const QUARANTINE_FOLDER = 'quarantine';
const LIST_FILE = `${QUARANTINE_FOLDER}/list.jsonl`;
const COPY_BYTES = 1024 * 1024;

interface Entry extends Omit<Found, 'remedy'> {
  /** ISO 8601, UTC. */
  readonly when: string;
  /** The file that holds the bytes. Absent when the record itself is intact, or there are no bytes. */
  readonly copy?: string;
}

/** Bytes of a file of the store. */
export interface FileRange {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

export class Quarantine {
  readonly #files: StoreFiles;
  readonly #known: Set<string> = new Set();
  /** The entries by the name of the file that holds the bytes. */
  readonly #copies: Map<string, Entry> = new Map();

  private constructor(files: StoreFiles) {
    this.#files = files;
  }

  static async load(files: StoreFiles): Promise<Quarantine> {
    const quarantine = new Quarantine(files);
    const bytes = await files.read(LIST_FILE, 0, await files.size(LIST_FILE));
    for (const line of new TextDecoder().decode(bytes).split('\n')) {
      const entry = parseEntry(line);
      if (entry !== undefined) quarantine.#note(entry);
    }
    return quarantine;
  }

  /** Files that hold damaged bytes. */
  get copies(): readonly string[] {
    return [...this.#copies.keys()];
  }

  /** True when the bytes were copied before. A stale problem is copied each time: it was repaired in between. */
  has(problem: Problem): boolean {
    return problem.severity === 'lost' && this.#known.has(keyOf(problem));
  }

  /** Copies the bytes of each problem, then lists them all. */
  async setAside(found: readonly Found[], nowMs: number): Promise<void> {
    const fresh = found.filter((problem) => !this.has(problem));
    if (fresh.length === 0) return;
    const { io } = this.#files;
    await io.mkdir(this.#files.pathOf(QUARANTINE_FOLDER));
    await syncFolder(io, this.#files.pathOf(''));
    const entries: Entry[] = [];
    for (const { remedy: _, ...problem } of fresh) {
      const copied = await this.#copy(problem);
      const copy = copied === undefined ? {} : { copy: copied };
      entries.push({ ...problem, when: new Date(nowMs).toISOString(), ...copy });
    }
    await syncFolder(io, this.#files.pathOf(QUARANTINE_FOLDER));
    await this.#list(entries);
    for (const entry of entries) this.#note(entry);
  }

  #note(entry: Entry): void {
    if (entry.severity === 'lost') this.#known.add(keyOf(entry));
    if (entry.copy !== undefined) this.#copies.set(entry.copy, entry);
  }

  /** Overwrites copies of bytes that were, or will be, in these ranges, and of records with this id. */
  async erase(id: string, ranges: readonly FileRange[]): Promise<void> {
    for (const [copy, entry] of this.#copies) {
      const isHit = ranges.some((range) => overlaps(range, entry));
      if (entry.id === id || isHit) await this.#overwrite(copy);
    }
  }

  async #overwrite(copy: string): Promise<void> {
    await withFile(this.#files.io, this.#files.pathOf(copy), 'write', async (file) => {
      const length = await file.size();
      for (let at = 0; at < length; at += COPY_BYTES) {
        await writeFully(file, new Uint8Array(Math.min(COPY_BYTES, length - at)), at);
      }
      await syncFile(file);
    });
  }

  async #copy({ file, offset, length }: Omit<Found, 'remedy'>): Promise<string | undefined> {
    const first = await this.#files.read(file, offset, Math.min(length, COPY_BYTES));
    if (first.length === 0) return undefined;
    const copy = `${QUARANTINE_FOLDER}/${file.replaceAll('/', '-')}-${offset}.bin`;
    await withFile(this.#files.io, this.#files.pathOf(copy), 'create', async (target) => {
      let at = 0;
      for (let piece = first; piece.length > 0;) {
        await writeFully(target, piece, at);
        at += piece.length;
        piece = await this.#files.read(file, offset + at, Math.min(length - at, COPY_BYTES));
      }
      await syncFile(target);
    });
    return copy;
  }

  async #list(entries: readonly Entry[]): Promise<void> {
    const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
    await withFile(this.#files.io, this.#files.pathOf(LIST_FILE), 'create', async (file) => {
      const end = await file.size();
      const last = new Uint8Array(1);
      if (end > 0) await file.read(last, end - 1);
      const apart = end > 0 && last[0] !== 0x0a ? '\n' : '';
      await writeFully(file, Buffer.from(apart + lines), end);
      await syncFile(file);
    });
    await syncFolder(this.#files.io, this.#files.pathOf(QUARANTINE_FOLDER));
  }
}

function overlaps(a: FileRange, b: FileRange): boolean {
  return a.file === b.file && a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

function keyOf({ file, offset, what }: Problem): string {
  return `${file} ${offset} ${what}`;
}

/** A copy lies in the folder itself. A list that names another file must not have it overwritten. */
const COPY_NAME = /^quarantine\/[^/]+\.bin$/;

function parseEntry(line: string): Entry | undefined {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    // SyntaxError: the empty text behind the last line, or a line that a crash cut short.
    return undefined;
  }
  if (!isFields(entry)) return undefined;
  const { copy, file, offset, length, what } = entry;
  if (typeof file !== 'string' || typeof what !== 'string') return undefined;
  if (!isCount(offset) || !isCount(length)) return undefined;
  const isCopy = copy === undefined || (typeof copy === 'string' && COPY_NAME.test(copy));
  return isCopy ? (entry as unknown as Entry) : undefined;
}
