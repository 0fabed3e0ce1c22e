import { join } from 'node:path';
import { encodeUtf8 } from '../../base/utf8.ts';
import type { Io } from '../../engine/io.ts';
import { withFileLock } from '../log/with-file-lock.ts';
import { isErrno, makeFolders, toFileError, writeAll } from '../log/write-file.ts';
import { nextAgentIndex, nextArtifactId } from './artifact-names.ts';

// Gives out the numbers in a folder of artifacts.
// Invariants
// - A number is taken under the lock of the folder, and the counter moves before anyone is told the number. So no two
//   tasks or processes get the same, and a number stays taken when its file is removed.
// - The names in the folder count as well: each process looks at them once, before its first number. A counter that was
//   lost or never written therefore hides nothing that exists.

const COUNTERS = '.next';
const LOCK = '.lock';

/** The key of artifacts among the counters. Agents have the key of their parent, or the empty one. */
const ARTIFACTS = 'artifact';

type Counters = Record<string, number>;

export class IdCounters {
  readonly #io: Io;
  readonly #folder: string;
  #names: readonly string[] | undefined;
  #made = false;

  constructor(io: Io, folder: string) {
    this.#io = io;
    this.#folder = folder;
  }

  /** Takes the next number for an artifact. Makes the folder for the first one. */
  takeArtifact(): Promise<number> {
    return this.#take(ARTIFACTS, 1, nextArtifactId);
  }

  /** Takes `count` numbers for outputs below `parentId`, and returns the first. */
  takeAgents(parentId: string | undefined, count: number): Promise<number> {
    const key = `agent:${parentId ?? ''}`;
    return this.#take(key, count, (names) => nextAgentIndex(names, parentId));
  }

  /** Numbers that another folder of the same history has used are used here, too. */
  async raise(counters: Readonly<Counters>): Promise<void> {
    await this.#locked(async () => {
      const own = await this.read();
      const keys = new Set([...Object.keys(own), ...Object.keys(counters)]);
      const higher = [...keys].map((key) => [key, Math.max(own[key] ?? 0, counters[key] ?? 0)]);
      await this.#write(Object.fromEntries(higher) as Counters);
    });
  }

  /** Reads the counters as they stand. They may be behind the names in the folder. */
  async read(): Promise<Counters> {
    try {
      const file = await this.#io.open(join(this.#folder, COUNTERS), 'read');
      try {
        const bytes = Buffer.alloc(await file.size());
        return parseCounters(bytes.subarray(0, await file.read(bytes, 0)).toString('utf8'));
      } finally {
        await file.close();
      }
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return {};
      throw toFileError(error, this.#folder);
    }
  }

  async #take(
    key: string,
    count: number,
    next: (names: readonly string[]) => number,
  ): Promise<number> {
    return this.#locked(async () => {
      const counters = await this.read();
      this.#names ??= await this.#io.list(this.#folder);
      const first = Math.max(counters[key] ?? 0, next(this.#names));
      await this.#write({ ...counters, [key]: first + count });
      return first;
    });
  }

  async #locked<T>(task: () => Promise<T>): Promise<T> {
    if (!this.#made) await makeFolders(this.#io, this.#folder);
    this.#made = true;
    return withFileLock(this.#io, join(this.#folder, LOCK), task);
  }

  /** The write is not synced: if a power cut loses a counter, the names give it back. */
  async #write(counters: Counters): Promise<void> {
    const path = join(this.#folder, COUNTERS);
    try {
      const file = await this.#io.open(`${path}.new`, 'create');
      try {
        const bytes = encodeUtf8(JSON.stringify(counters));
        await file.truncate(0);
        await writeAll(file, bytes, 0);
      } finally {
        await file.close();
      }
      await this.#io.rename(`${path}.new`, path);
    } catch (error) {
      throw toFileError(error, path);
    }
  }
}

function parseCounters(text: string): Counters {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return {};
    return Object.fromEntries(
      Object.entries(value).filter((pair): pair is [string, number] =>
        Number.isSafeInteger(pair[1]),
      ),
    );
  } catch {
    // A power cut cut the file short. The names in the folder say enough.
    return {};
  }
}
