import { join } from 'node:path';
import { QuipuError, invalid, notFound, unsupported } from '../base/errors.ts';
import { checkString, encodeUtf8, shown } from '../base/text.ts';
import type { Io, IoFile } from '../engine/io.ts';
import { Artifacts, type ArtifactDraft, type SavedArtifact } from './artifacts/artifacts.ts';
import { forkSession, type ForkReport, type SessionForkOptions } from './carry/fork-session.ts';
import { moveSession, toTarget, type MoveReport } from './carry/move-session.ts';
import { referencesIn, type ReadBlob, persistEntry } from './entries/pictures.ts';
import {
  toLine,
  type NewEntry,
  type SessionEntry,
  type SessionHeader,
} from './entries/session-entry.ts';
import { copyFile } from './files/carry-folder.ts';
import { readSums } from './files/file-sums.ts';
import { RamIo } from './files/ram-io.ts';
import { artifactsFolderOf, folderFor, toSessionName } from './files/session-names.ts';
import { makeFolders, writeAll, writeWhole } from './files/write-file.ts';
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
import type { SessionRecord, SessionsHome } from './records/registry.ts';
import { SessionRefs } from './records/session-refs.ts';
import type { Session, SinkRequest } from './sessions.ts';
import { OutputSink } from './sink/output-sink.ts';
import type { LineRange } from './urls/read-range.ts';
import { resolveUrl, type Resource, type UrlSource } from './urls/resolve-url.ts';

/** The largest artifact of a session in memory. */
const MEMORY_ARTIFACT_BYTES = 8_388_608;

export interface OpenSessionParts {
  readonly home: SessionsHome;
  /** The disk of the session: that of `home`, or memory. */
  readonly io: Io;
  readonly header: SessionHeader;
  readonly writer: EntryWriter;
  /** For a subagent: the session whose artifacts it shares. */
  readonly parent: Session | undefined;
  readonly others: OtherSessions;
}

/** What a session needs of the other sessions that are open here. */
export interface OtherSessions {
  /** Where addresses lead to, from the given place first. */
  sources(first: UrlSource): readonly UrlSource[];
  open(record: SessionRecord): Promise<Session>;
  release(session: OpenSession): void;
}

/** A session over files, on a disk or in memory. */
export class OpenSession implements Session {
  readonly parts: OpenSessionParts;
  header: SessionHeader;
  #artifacts: Artifacts | undefined;
  #closed = false;

  constructor(parts: OpenSessionParts) {
    this.parts = parts;
    this.header = parts.header;
  }

  get inMemory(): boolean {
    return this.parts.io instanceof RamIo;
  }

  /** Artifacts move with the session, whichever process moves it. A subagent uses its parent's artifacts. */
  get artifacts(): Artifacts {
    const { io, writer, parent } = this.parts;
    if (parent !== undefined) return parent.artifacts;
    const folder = mustHaveArtifacts(writer.file);
    if (this.#artifacts?.folder !== folder) this.#artifacts = new Artifacts(io, folder);
    return this.#artifacts;
  }

  /** The place of its artifacts for addresses. */
  get source(): UrlSource {
    return { io: this.parts.io, folder: this.artifacts.folder, inMemory: this.inMemory };
  }

  get id(): string {
    return this.header.id;
  }

  get file(): string | undefined {
    return this.inMemory ? undefined : this.parts.writer.file;
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
    const cap = this.inMemory ? { artifactMaxBytes: MEMORY_ARTIFACT_BYTES } : {};
    const artifact = async (): Promise<ArtifactDraft> => {
      await this.parts.writer.follow();
      return this.artifacts.openDraft(toolType);
    };
    return new OutputSink({ ...cap, ...options, ...(spill && { artifact }) });
  }

  resolve(url: string, range: LineRange = {}): Promise<Resource> {
    return resolveUrl(this.parts.others.sources(this.source), url, range);
  }

  fork(options: SessionForkOptions = {}): Promise<ForkReport> {
    this.#assertOpen('fork');
    return this.#atRest('fork', (file) => forkSession(this.parts.home, file, options));
  }

  async moveTo(
    to: string | { readonly cwd: string },
    options: { readonly cwd?: string } = {},
  ): Promise<MoveReport> {
    this.#assertOpen('moveTo');
    const target = toTarget(to, options.cwd);
    const cwd = target.cwd ?? this.header.cwd;
    return this.#atRest('moveTo', async (file) => {
      const report = await moveSession(this.parts.home, { id: this.id, file }, { ...target, cwd });
      this.parts.writer.file = report.to;
      this.header = { ...this.header, cwd };
      return report;
    });
  }

  async persist({ folder }: { readonly folder?: string } = {}): Promise<Session> {
    this.#assertOpen('persist');
    const { header } = this;
    const { home, writer, others } = this.parts;
    if (!this.inMemory) throw invalid('session', 'has a file already');
    const target = folderFor(home.root, folder, header.cwd);
    const file = join(target, toSessionName(header.id, header.timestamp));
    await makeFolders(home.io, target);
    await writer.quiet(() => persistSession(home, this, file));
    await this.close();
    return others.open({ id: header.id, file });
  }

  /** Does what needs the file while nobody writes to it from here. */
  async #atRest<T>(verb: string, task: (file: string) => Promise<T>): Promise<T> {
    const { writer } = this.parts;
    if (this.inMemory) {
      const message = `session.${verb} needs files; call session.persist() first`;
      throw unsupported(verb, 'a session in memory', message);
    }
    return writer.quiet(async () => {
      await writer.follow();
      return task(writer.file);
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.parts.others.release(this);
    await this.parts.writer.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #read<T>(task: (log: OpenLog) => Promise<T>): Promise<T> {
    this.#assertOpen('read');
    const { io, writer } = this.parts;
    await writer.follow();
    return withFile(io, writer.file, async (file) => task(await this.#toLog(file)));
  }

  async #toLog(file: IoFile): Promise<OpenLog> {
    const { io, writer } = this.parts;
    const path = writer.file;
    const { header, end } = await readHeader(file, path);
    return { file, path, header, from: end, to: await file.size(), sums: await readSums(io, path) };
  }

  #reader({ hydrate = true }: SessionReadOptions): ReadBlob | undefined {
    const { engine } = this.parts.home;
    if (!hydrate || this.inMemory) return undefined;
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

function mustHaveArtifacts(file: string): string {
  const folder = artifactsFolderOf(file);
  if (folder !== undefined) return folder;
  const problem = 'must be called <name>.jsonl, or it has no place for artifacts';
  throw invalid('file', `${problem}; got ${file}`);
}

/** Gives a session that was in memory a file, and writes its artifacts, under the same ids. */
async function persistSession(
  { io, engine, registry }: SessionsHome,
  session: OpenSession,
  file: string,
): Promise<void> {
  const { header, source, artifacts } = session;
  const refs = new SessionRefs(engine, header.id);
  await registry.put({ id: header.id, file });
  if ((await source.io.stat(source.folder)) !== undefined) {
    const to = mustHaveArtifacts(file);
    await makeFolders(io, to);
    for (const name of await artifacts.listFiles()) {
      const from = { io: source.io, path: join(source.folder, name) };
      await copyFile(from, { io, path: join(to, name) });
    }
    await new Artifacts(io, to).raiseCounters(await artifacts.counters());
  }
  await writeWhole(io, file, async (target) => {
    let at = 0;
    const add = async (line: string): Promise<void> => {
      const bytes = encodeUtf8(`${line}\n`);
      await writeAll(target, bytes, at);
      at += bytes.length;
    };
    await add(toLine(header));
    for await (const { entry } of session.entries()) {
      const persisted = persistEntry(entry);
      const line = toLine(persisted.entry);
      await refs.put(persisted.blobs, referencesIn(line));
      await add(line);
    }
  });
}
