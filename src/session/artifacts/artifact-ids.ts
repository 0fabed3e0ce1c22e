import { join } from 'node:path';
import { encodeUtf8 } from '../../base/text.ts';
import type { Io } from '../../engine/io.ts';
import {
  withFileLock,
  makeFolders,
  readWhole,
  toFileError,
  writeAll,
} from '../files/write-file.ts';

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
    const bytes = await readWhole(this.#io, join(this.#folder, COUNTERS));
    return bytes === undefined ? {} : parseCounters(bytes.toString('utf8'));
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

const SEGMENT_CHARS_MAX = 64;

/** Makes a name part of a file name: no separators, no dots, never empty. */
export function toSegment(name: string, fallback: string): string {
  const clean = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, SEGMENT_CHARS_MAX);
  return clean.replaceAll(/^_+|_+$/g, '') || fallback;
}

export function toArtifactName(id: string, toolType: string): string {
  return `${id}.${toSegment(toolType, 'tool')}.log`;
}

/** Returns the id in `<id>.<tool>.log`, as it is written; undefined for any other name. */
export function artifactIdOf(name: string): string | undefined {
  return /^(\d+)\..+\.log$/.exec(name)?.[1];
}

/** Returns one more than the highest id. Numbers too large to count on are not ours. */
export function nextArtifactId(names: readonly string[]): number {
  let next = 0;
  for (const name of names) {
    const id = Number(artifactIdOf(name) ?? -1);
    if (Number.isSafeInteger(id)) next = Math.max(next, id + 1);
  }
  return next;
}

/** Returns the id of an agent's output in `<id>.md`. */
export function agentIdOf(name: string): string | undefined {
  return name.startsWith('.') ? undefined : /^(.+)\.md$/.exec(name)?.[1];
}

export function toAgentId(parentId: string | undefined, index: number, name: string): string {
  const own = `${index}-${toSegment(name, 'agent')}`;
  return parentId === undefined ? own : `${parentId}.${own}`;
}

/** Returns one more than the highest index directly below `parentId`, of outputs and of child sessions. */
export function nextAgentIndex(names: readonly string[], parentId: string | undefined): number {
  const prefix = parentId === undefined ? '' : `${parentId}.`;
  let next = 0;
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const [, digits] = /^(\d+)-.*\.(?:md|jsonl)$/.exec(name.slice(prefix.length)) ?? [];
    const index = Number(digits ?? -1);
    if (Number.isSafeInteger(index)) next = Math.max(next, index + 1);
  }
  return next;
}

/** Compares by index, then by name, level by level. */
export function compareAgentIds(a: string, b: string): number {
  const left = a.split('.');
  const right = b.split('.');
  for (const [level, segment] of left.entries()) {
    const other = right[level];
    if (other === undefined) return 1;
    const difference = Number.parseInt(segment, 10) - Number.parseInt(other, 10);
    if (Number.isFinite(difference) && difference !== 0) return difference;
    if (segment !== other) return segment < other ? -1 : 1;
  }
  return left.length - right.length;
}
