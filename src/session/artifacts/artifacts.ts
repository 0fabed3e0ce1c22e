import { dirname, join } from 'node:path';
import { QuipuError, exists, invalid } from '../../base/errors.ts';
import { checkString, encodeUtf8 } from '../../base/text.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import { coverFile } from '../files/file-sums.ts';
import { draftPathOf, isErrno, toFileError, writeAll, writeWhole } from '../files/write-file.ts';
import {
  IdCounters,
  artifactIdOf,
  nextAgentIndex,
  nextArtifactId,
  toAgentId,
  toArtifactName,
} from './artifact-ids.ts';

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
  readonly #ids: IdCounters;

  constructor(io: Io, folder: string) {
    this.#io = io;
    this.folder = folder;
    this.#ids = new IdCounters(io, folder);
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
    const id = String(await this.#ids.takeArtifact());
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
    const first = await this.#ids.takeAgents(parentId, names.length);
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
  async counters(): Promise<Readonly<Record<string, number>>> {
    const names = await this.listFiles();
    const known = await this.#ids.read();
    return {
      ...known,
      artifact: Math.max(known['artifact'] ?? 0, nextArtifactId(names)),
      'agent:': Math.max(known['agent:'] ?? 0, nextAgentIndex(names, undefined)),
    };
  }

  /** After this call, the folder never gives out numbers below these. */
  async raiseCounters(counters: Readonly<Record<string, number>>): Promise<void> {
    await this.#ids.raise(counters);
  }
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
