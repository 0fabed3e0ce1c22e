import { QuipuError, invalid, notFound } from '../base/errors.ts';
import { checkString, shown } from '../base/text.ts';
import type { Engine } from '../engine/engine.ts';
import type { Io, IoFile } from '../engine/io.ts';
import type { ArtifactDraft, Artifacts, SavedArtifact } from './artifacts/artifacts.ts';
import type { SessionForkOptions, ForkReport } from './carry/fork-session.ts';
import { toTarget, type MoveReport, type MoveTarget } from './carry/move-session.ts';
import type { ReadBlob } from './entries/hydrate-entry.ts';
import type { NewEntry, SessionEntry, SessionHeader } from './entries/session-entry.ts';
import { readSums } from './files/file-sums.ts';
import type { EntryWriter } from './log/entry-writer.ts';
import {
  ReadNotes,
  readAllEntries,
  readLastEntries,
  type OpenLog,
  type LoadedEntry,
  type SessionLastOptions,
  type SessionReadOptions,
  type SessionView,
} from './log/read-entries.ts';
import { readHeader, withFile } from './log/session-file.ts';
import type { Session, SinkRequest } from './sessions.ts';
import { OutputSink } from './sink/output-sink.ts';
import type { LineRange } from './urls/read-range.ts';
import type { Resource } from './urls/resolve-url.ts';

/** The largest artifact of a session in memory. */
const MEMORY_ARTIFACT_BYTES = 8_388_608;

/** The operations for which a session calls the keeper of all sessions. */
export interface SessionKeeper {
  fork(session: OpenSession, options: SessionForkOptions): Promise<ForkReport>;
  move(session: OpenSession, target: MoveTarget): Promise<MoveReport>;
  persist(session: OpenSession, folder: string | undefined): Promise<Session>;
  resolve(session: OpenSession, url: string, range: LineRange): Promise<Resource>;
  release(session: OpenSession): void;
}

export interface OpenSessionParts {
  readonly io: Io;
  readonly engine: Engine;
  readonly header: SessionHeader;
  readonly writer: EntryWriter;
  readonly artifactsOf: (file: string) => Artifacts;
  /** For a subagent: the session whose artifacts it shares. */
  readonly parent?: Session | undefined;
  readonly keeper: SessionKeeper;
  readonly inMemory: boolean;
}

/** A session over files, on a disk or in memory. */
export class OpenSession implements Session {
  readonly parts: OpenSessionParts;
  header: SessionHeader;
  #artifacts: { readonly file: string; readonly artifacts: Artifacts } | undefined;
  #closed = false;

  constructor(parts: OpenSessionParts) {
    this.parts = parts;
    this.header = parts.header;
  }

  /** Artifacts move with the session, whichever process moves it. A subagent uses its parent's artifacts. */
  get artifacts(): Artifacts {
    const { writer, parent } = this.parts;
    if (parent !== undefined) return parent.artifacts;
    const { file } = writer;
    if (this.#artifacts?.file !== file) {
      this.#artifacts = { file, artifacts: this.parts.artifactsOf(file) };
    }
    return this.#artifacts.artifacts;
  }

  get id(): string {
    return this.header.id;
  }

  get file(): string | undefined {
    return this.parts.inMemory ? undefined : this.parts.writer.file;
  }

  get leaf(): string | null {
    return this.parts.writer.leaf;
  }

  async append(entry: NewEntry): Promise<SessionEntry> {
    this.#assertOpen('append');
    return this.parts.writer.append(entry);
  }

  async flush(): Promise<void> {
    await this.parts.writer.flush();
  }

  async setLeaf(id: string | null): Promise<void> {
    this.#assertOpen('setLeaf');
    if (id !== null && (typeof id !== 'string' || id === '')) throw invalid('id', 'names an entry');
    await this.parts.writer.setLeaf(id);
  }

  async *entries(options: SessionReadOptions = {}): AsyncGenerator<LoadedEntry, void, undefined> {
    this.#assertOpen('entries');
    const { io, writer } = this.parts;
    await writer.follow();
    const file = await io.open(writer.file, 'read');
    try {
      const log = await this.#toLog(file);
      yield* readAllEntries(log, { readBlob: this.#reader(options) }, new ReadNotes());
    } finally {
      await file.close();
    }
  }

  load(options: SessionReadOptions = {}): Promise<SessionView> {
    return this.#read(async (log) => {
      const notes = new ReadNotes();
      const entries: SessionEntry[] = [];
      const readBlob = this.#reader(options);
      for await (const { entry } of readAllEntries(log, { readBlob }, notes)) entries.push(entry);
      return notes.view(entries);
    });
  }

  last(count: number, options: SessionLastOptions = {}): Promise<SessionView> {
    if (!Number.isSafeInteger(count) || count < 0) {
      throw invalid('count', `must be a whole number from 0, got ${shown(count)}`);
    }
    const { before, maxBytes = Infinity } = options;
    if (before !== undefined && (!Number.isSafeInteger(before) || before < 0)) {
      throw invalid('before', `must be the cursor of another page, got ${shown(before)}`);
    }
    return this.#read((log) => {
      const to = Math.max(log.from, Math.min(log.to, before ?? log.to));
      const isEnough = (taken: number, bytes: number): boolean =>
        taken >= count || bytes > maxBytes;
      const reading = { readBlob: this.#reader(options), isEnough };
      return readLastEntries({ ...log, to }, reading, new ReadNotes());
    });
  }

  async branch(leaf?: string, options: SessionReadOptions = {}): Promise<SessionView> {
    if (leaf !== undefined) checkString(leaf, 'leaf');
    return this.#read(async (log) => {
      // A parent stands before its children, so one pass backwards through the file is enough.
      let next: string | null = leaf ?? this.leaf;
      const wants = (entry: SessionEntry): boolean => {
        if (next === null || entry.id !== next) return false;
        next = entry.parentId ?? null;
        return true;
      };
      const isEnough = (): boolean => next === null;
      const readBlob = this.#reader(options);
      const view = await readLastEntries(log, { readBlob, isEnough, wants }, new ReadNotes());
      if (leaf !== undefined && view.entries.length === 0) {
        throw notFound('entry', leaf, `there is no entry ${leaf}`);
      }
      const { cursor: _, ...whole } = view;
      return whole;
    });
  }

  async saveArtifact(text: string, toolType: string): Promise<SavedArtifact> {
    this.#assertOpen('saveArtifact');
    await this.parts.writer.follow();
    return this.artifacts.save(text, toolType);
  }

  sink({ toolType = 'tool', spill = true, ...options }: SinkRequest = {}): OutputSink {
    this.#assertOpen('sink');
    checkString(toolType, 'toolType');
    const cap = this.parts.inMemory ? { artifactMaxBytes: MEMORY_ARTIFACT_BYTES } : {};
    const artifact = async (): Promise<ArtifactDraft> => {
      await this.parts.writer.follow();
      return this.artifacts.openDraft(toolType);
    };
    return new OutputSink({ ...cap, ...options, ...(spill && { artifact }) });
  }

  resolve(url: string, range: LineRange = {}): Promise<Resource> {
    return this.parts.keeper.resolve(this, url, range);
  }

  fork(options: SessionForkOptions = {}): Promise<ForkReport> {
    this.#assertOpen('fork');
    return this.parts.keeper.fork(this, options);
  }

  async moveTo(
    to: string | { readonly cwd: string },
    options: { readonly cwd?: string } = {},
  ): Promise<MoveReport> {
    this.#assertOpen('moveTo');
    return this.parts.keeper.move(this, toTarget(to, options.cwd));
  }

  persist(options: { readonly folder?: string } = {}): Promise<Session> {
    this.#assertOpen('persist');
    return this.parts.keeper.persist(this, options.folder);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.parts.keeper.release(this);
    await this.parts.writer.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #read<T>(task: (log: OpenLog) => Promise<T>): Promise<T> {
    this.#assertOpen('read');
    const { io, writer } = this.parts;
    await writer.follow();
    return withFile(io, writer.file, 'read', async (file) => task(await this.#toLog(file)));
  }

  async #toLog(file: IoFile): Promise<OpenLog> {
    const { io, writer } = this.parts;
    const path = writer.file;
    const { header, end } = await readHeader(file, path);
    return { file, path, header, from: end, to: await file.size(), sums: await readSums(io, path) };
  }

  #reader({ hydrate = true }: SessionReadOptions): ReadBlob | undefined {
    const { engine, inMemory } = this.parts;
    if (!hydrate || inMemory) return undefined;
    return async (sha256) => {
      const hash = await engine.findBySha256(sha256);
      return hash && engine.getBlob(hash);
    };
  }

  #assertOpen(what: string): void {
    if (!this.#closed) return;
    throw new QuipuError('CLOSED', `session.${what}: the session is closed`, { what: 'session' });
  }
}
