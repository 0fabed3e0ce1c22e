import { dirname, join } from 'node:path';
import { QuipuError, exists, invalid } from '../../base/errors.ts';
import { parseJsonObject } from '../../base/fields.ts';
import { checkString, encodeUtf8 } from '../../base/text.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { carryFolder, type CarryOptions } from '../files/carry-folder.ts';
import { coverFile } from '../files/file-sums.ts';
import { artifactsFolderOf } from '../files/session-names.ts';
import {
  draftPathOf,
  isErrno,
  makeFolders,
  readWhole,
  toFileError,
  withFileLock,
  withOpen,
  writeAll,
  writeWhole,
} from '../files/write-file.ts';

// Invariants
// - A number is taken under the lock of the folder, and the counter moves before anyone is told the number. So no two
//   tasks or processes get the same, and a number stays taken when its file is removed.
// - The names in the folder count as well: each process looks at them once, before its first number. A counter that was
//   lost or never written therefore hides nothing that exists.

const COUNTERS = '.next';
const LOCK = '.lock';

/** The key of artifacts among the counters. Agents have the key of their parent, or the empty one. */
const ARTIFACTS = 'artifact';
const AGENTS = 'agent:';

type Counters = Readonly<Record<string, number>>;

export interface SavedArtifact {
  readonly id: string;
  readonly path: string;
}

/**
 * The texts beside a session: outputs of tools by number, outputs of agents by name. They share one folder, made with
 * the first of them. A subagent may be given its parent's folder, and then shares its numbers.
 */
export class Artifacts {
  readonly folder: string;
  readonly #io: Io;
  #names: readonly string[] | undefined;
  #made = false;

  constructor(io: Io, folder: string) {
    this.#io = io;
    this.folder = folder;
  }

  /** Returns the names of the files, sorted; none while there is no folder. */
  async listFiles(): Promise<string[]> {
    try {
      const names = await this.#io.list(this.folder);
      return names.filter((name) => !name.startsWith('.'));
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return [];
      throw toFileError(error, this.folder);
    }
  }

  /** Returns the ids of the stored tool outputs, by number. */
  async listIds(): Promise<string[]> {
    const ids = (await this.listFiles()).map(artifactIdOf).filter((id) => id !== undefined);
    return [...new Set(ids)].toSorted((a, b) => Number(a) - Number(b));
  }

  /** Allocates an id and a path that nobody else gets. The caller writes the file, once. */
  async allocate(toolType: string): Promise<SavedArtifact> {
    checkString(toolType, 'toolType');
    const id = String(await this.#take(ARTIFACTS, 1, nextArtifactId));
    return { id, path: join(this.folder, toArtifactName(id, toolType)) };
  }

  /** Returns the id only once the whole text is durable. */
  async save(text: string, toolType: string): Promise<SavedArtifact> {
    checkString(text, 'text');
    const saved = await this.allocate(toolType);
    await this.#write(saved.path, text);
    return saved;
  }

  /** For a text that comes in pieces. */
  async openDraft(toolType: string): Promise<ArtifactDraft> {
    const { id, path } = await this.allocate(toolType);
    return openDraft(this.#io, path, id);
  }

  /** Allocates an id for an agent's output, below the id of its parent if it has one. */
  async allocateAgent(name: string, parentId?: string): Promise<string> {
    const [id] = await this.allocateAgents([name], parentId);
    return id ?? toAgentId(parentId, 0, name);
  }

  /** Allocates ids for several agents at once, with indices that follow each other. */
  async allocateAgents(names: readonly string[], parentId?: string): Promise<string[]> {
    const given: unknown = names;
    if (!Array.isArray(given)) throw invalid('names', 'must be a list of texts');
    for (const name of given) checkString(name, 'name');
    if (parentId !== undefined) checkAgentId(parentId);
    const first = await this.#take(`${AGENTS}${parentId ?? ''}`, names.length, (known) =>
      nextAgentIndex(known, parentId),
    );
    return names.map((name, at) => toAgentId(parentId, first + at, name));
  }

  /** Writes the output of an agent, once: a second output needs another id. */
  async saveAgentOutput(id: string, text: string): Promise<SavedArtifact> {
    const path = join(this.folder, `${checkAgentId(id)}.md`);
    checkString(text, 'text');
    if ((await this.#io.stat(path)) !== undefined) {
      throw exists('artifact', id, `agent ${id} has its output already; allocate another id`);
    }
    await this.#write(path, text);
    return { id, path };
  }

  async #write(path: string, text: string): Promise<void> {
    await writeWhole(this.#io, path, (file) => writeAll(file, encodeUtf8(text), 0));
    await coverFile(this.#io, path, false).catch(() => undefined);
  }

  /** The path of an agent's session file. */
  agentSessionFile(id: string): string {
    return join(this.folder, `${checkAgentId(id)}.jsonl`);
  }

  /** Returns the next numbers, also for names without a counter. */
  async counters(): Promise<Counters> {
    const names = await this.listFiles();
    const known = await this.#readCounters();
    return {
      ...known,
      [ARTIFACTS]: Math.max(known[ARTIFACTS] ?? 0, nextArtifactId(names)),
      [AGENTS]: Math.max(known[AGENTS] ?? 0, nextAgentIndex(names, undefined)),
    };
  }

  /** Numbers that another folder of the same history has used are used here, too. */
  async raiseCounters(counters: Counters): Promise<void> {
    await this.#locked(async () => {
      const own = await this.#readCounters();
      const higher = Object.entries(counters).filter(([key, next]) => next > (own[key] ?? 0));
      await this.#writeCounters({ ...own, ...Object.fromEntries(higher) });
    });
  }

  /** Takes `count` numbers, and returns the first. The first of all makes the folder. */
  async #take(
    key: string,
    count: number,
    next: (names: readonly string[]) => number,
  ): Promise<number> {
    return this.#locked(async () => {
      const counters = await this.#readCounters();
      this.#names ??= await this.#io.list(this.folder);
      const first = Math.max(counters[key] ?? 0, next(this.#names));
      await this.#writeCounters({ ...counters, [key]: first + count });
      return first;
    });
  }

  async #locked<T>(task: () => Promise<T>): Promise<T> {
    if (!this.#made) await makeFolders(this.#io, this.folder);
    this.#made = true;
    return withFileLock(this.#io, join(this.folder, LOCK), task);
  }

  /** A power cut may have cut the counters short. Then the names in the folder say enough. */
  async #readCounters(): Promise<Counters> {
    const bytes = await readWhole(this.#io, join(this.folder, COUNTERS));
    const found = Object.entries(parseJsonObject(bytes?.toString('utf8') ?? '') ?? {});
    const isCounter = (pair: [string, unknown]): pair is [string, number] =>
      Number.isSafeInteger(pair[1]);
    return Object.fromEntries(found.filter(isCounter));
  }

  /** The write is not synced: if a power cut loses a counter, the names give it back. */
  async #writeCounters(counters: Counters): Promise<void> {
    const path = join(this.folder, COUNTERS);
    try {
      await withOpen(this.#io, `${path}.new`, 'create', async (file) => {
        await file.truncate(0);
        await writeAll(file, encodeUtf8(JSON.stringify(counters)), 0);
      });
      await this.#io.rename(`${path}.new`, path);
    } catch (error) {
      throw toFileError(error, path);
    }
  }
}

interface ArtifactsCarried extends CarryOptions {
  /** The numbers that were given out are not given out again at the other place. */
  readonly counts?: boolean;
}

/** Gives the artifacts beside a session file, if there are any, a place beside another. */
export async function carryArtifacts(
  io: Io,
  from: string,
  to: string,
  { counts = false, ...options }: ArtifactsCarried,
): Promise<void> {
  const [source, target] = [artifactsFolderOf(from), artifactsFolderOf(to)];
  if (source === undefined || target === undefined) return;
  if ((await io.stat(source))?.kind !== 'folder') return;
  await carryFolder(io, source, target, options);
  if (!counts) return;
  await new Artifacts(io, target).raiseCounters(await new Artifacts(io, source).counters());
}

function checkAgentId(id: string): string {
  checkString(id, 'id');
  if (/^\d+-[A-Za-z0-9_-]{1,64}(?:\.\d+-[A-Za-z0-9_-]{1,64})*$/.test(id)) return id;
  throw new QuipuError(
    'INVALID',
    `"${id}" is not an id of an agent output, such as 0-Plan.1-Check`,
    {
      what: 'id',
    },
  );
}

/** A file that is being written and has no name yet that anyone would look for. */
export interface ArtifactDraft {
  readonly id: string;
  readonly file: IoFile;
  /** Opens a second file, for bytes that may have to be put elsewhere in the end. The draft removes it. */
  scratch(): Promise<IoFile>;
  /** Gives the file its name, durably. Nothing may be written to it any more. */
  publish(): Promise<void>;
  discard(): Promise<void>;
}

async function openDraft(io: Io, path: string, id: string): Promise<ArtifactDraft> {
  const draft = draftPathOf(path);
  const file = await io.open(draft, 'create');
  let second: { readonly path: string; readonly file: IoFile } | undefined;
  const dropScratch = async (): Promise<void> => {
    const scratch = second;
    second = undefined;
    if (scratch === undefined) return;
    await scratch.file.close().catch(() => undefined);
    await io.remove(scratch.path);
  };
  return {
    id,
    file,
    async scratch() {
      const scratchPath = draftPathOf(path);
      second = { path: scratchPath, file: await io.open(scratchPath, 'create') };
      return second.file;
    },
    async publish() {
      try {
        await file.sync();
      } finally {
        await file.close();
      }
      await io.rename(draft, path);
      await io.syncDir(dirname(path));
      await coverFile(io, path, false).catch(() => undefined);
      // A second file that cannot be removed only takes space.
      await dropScratch().catch(() => undefined);
    },
    async discard() {
      await dropScratch().catch(() => undefined);
      await file.close().catch(() => undefined);
      await io.remove(draft).catch(() => undefined);
      // The file may have its name already, but nobody knows whether the name is durable.
      await io.remove(path).catch(() => undefined);
    },
  };
}

// The names of artifacts: `<number>.<tool>.log` for the output of a tool, `<id>.md` for that of an agent.

const SEGMENT_CHARS_MAX = 64;

/** Makes a name part of a file name: no separators, no dots, never empty. */
export function toSegment(name: string, fallback: string): string {
  const clean = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, SEGMENT_CHARS_MAX);
  return clean.replaceAll(/^_+|_+$/g, '') || fallback;
}

function toArtifactName(id: string, toolType: string): string {
  return `${id}.${toSegment(toolType, 'tool')}.log`;
}

/** Returns the id in `<id>.<tool>.log`, as it is written; undefined for any other name. */
export function artifactIdOf(name: string): string | undefined {
  return /^(\d+)\..+\.log$/.exec(name)?.[1];
}

/** Returns one more than the highest id. Numbers too large to count on are not ours. */
function nextArtifactId(names: readonly string[]): number {
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
function nextAgentIndex(names: readonly string[], parentId: string | undefined): number {
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
