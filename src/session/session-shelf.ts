import { isFields } from '../base/fields.ts';
import { basename, dirname, join, resolve } from 'node:path';
import { type QuipuError, exists, invalid, unsupported } from '../base/errors.ts';
import { checkString, encodeUtf8 } from '../base/text.ts';
import type { Io } from '../engine/io.ts';
import { Artifacts } from './artifacts/artifacts.ts';
import { forkSession, type ForkReport, type SessionForkOptions } from './carry/fork-session.ts';
import { moveSession, type MoveReport, type MoveTarget } from './carry/move-session.ts';
import { referencesIn } from './entries/blob-reference.ts';
import { persistEntry } from './entries/persist-entry.ts';
import {
  SESSION_VERSION,
  newSessionId,
  toLine,
  type SessionEntry,
  type SessionHeader,
} from './entries/session-entry.ts';
import { copyFile, type FilePlace } from './files/carry-folder.ts';
import { NO_SUMS, coverSeen } from './files/file-sums.ts';
import { RamIo } from './files/ram-io.ts';
import { artifactsFolderOf, slugOf, toSessionName } from './files/session-names.ts';
import { makeFolders, writeAll, writeWhole } from './files/write-file.ts';
import { assertOwn } from './keep/find-session.ts';
import { EntryWriter } from './log/entry-writer.ts';
import { ReadNotes, readLastEntries } from './log/read-entries.ts';
import { readHeader, readHeaderOf, withFile } from './log/session-file.ts';
import { OpenSession, type SessionKeeper } from './open-session.ts';
import { currentFile, type SessionRecord, type SessionsHome } from './records/registry.ts';
import { SessionRefs } from './records/session-refs.ts';
import type { NewSession, Session, SessionOptions } from './sessions.ts';
import type { LineRange } from './urls/read-range.ts';
import { resolveUrl, type Resource, type UrlSource } from './urls/resolve-url.ts';

/**
 * The sessions that are open here. Addresses lead to their artifacts, in the order in which the sessions were opened.
 */
export class SessionShelf implements SessionKeeper {
  readonly #home: SessionsHome;
  readonly #open = new Set<OpenSession>();

  constructor(home: SessionsHome) {
    this.#home = home;
  }

  async create(options: NewSession): Promise<Session> {
    const { clock, io } = this.#home;
    checkNew(options);
    const timestamp = new Date(clock()).toISOString();
    const cwd = options.cwd ?? process.cwd();
    const id = newSessionId(clock());
    const given = persistEntry({ ...options.header });
    const fields = { type: 'session', version: SESSION_VERSION, id, timestamp, cwd } as const;
    const header: SessionHeader = { ...given.entry, ...fields };
    const name = toSessionName(id, timestamp);
    if (options.parent !== undefined) {
      return this.#createChild(toOpen(options.parent), header, options);
    }
    if (options.inMemory === true) {
      const ram = new RamIo();
      await writeHeader(ram, join('/session', name), header);
      return this.#start(ram, { id, file: join('/session', name) }, options);
    }
    const file = join(this.folderFor(options.folder, cwd), name);
    const references = referencesIn(toLine(header));
    await new SessionRefs(this.#home.engine, id).put(given.blobs, references);
    await this.#begin(io, file, header);
    return this.#start(io, { id, file }, options);
  }

  /** A child is kept where its parent is: on the same disk, or in the same memory. */
  async #createChild(
    parent: OpenSession,
    header: SessionHeader,
    options: NewSession,
  ): Promise<Session> {
    const { io, inMemory } = parent.parts;
    await parent.parts.writer.follow();
    const file = parent.artifacts.agentSessionFile(options.agentId ?? '');
    if (((await io.stat(file))?.size ?? 0) > 0) {
      const id = options.agentId ?? '';
      throw exists(
        'session',
        id,
        `agent ${id} has its session already: ${file}; allocate another one`,
      );
    }
    const own = { ...header, parentSession: parent.id };
    if (inMemory) await writeHeader(io, file, own);
    else await this.#begin(io, file, own);
    return this.#start(io, { id: own.id, file }, options);
  }

  async #begin(io: Io, file: string, header: SessionHeader): Promise<void> {
    const { registry } = this.#home;
    await registry.put({ id: header.id, file });
    try {
      await writeHeader(io, file, header);
    } catch (error) {
      await registry.remove(header.id);
      throw error;
    }
    await coverSeen(io, file);
  }

  async open(record: SessionRecord, options: SessionOptions): Promise<Session> {
    checkRedact(options.redact);
    await coverSeen(this.#home.io, record.file);
    return this.#start(this.#home.io, record, options);
  }

  /** Returns the given folder, or the one for sessions about `cwd`. */
  folderFor(folder: string | undefined, cwd: string): string {
    if (folder !== undefined) {
      if (typeof folder === 'string' && folder !== '') return resolve(folder);
      throw invalid('folder', 'must be the path of a folder');
    }
    const { root } = this.#home;
    if (root !== undefined) return join(root, slugOf(cwd));
    throw invalid(
      'folder',
      'is needed: the store is on another machine, and session files are kept here',
    );
  }

  async fork(session: OpenSession, options: SessionForkOptions): Promise<ForkReport> {
    const { writer, inMemory } = session.parts;
    if (inMemory) throw onlyInMemory('fork');
    return writer.quiet(async () => {
      await writer.follow();
      return this.forkFile(writer.file, options);
    });
  }

  async forkFile(file: string, options: SessionForkOptions): Promise<ForkReport> {
    for (const name of ['at', 'cwd'] as const) {
      if (options[name] !== undefined) checkString(options[name], name);
    }
    const now = new Date(this.#home.clock()).toISOString();
    const given = options.folder;
    const folder = given === undefined ? {} : { folder: this.folderFor(given, '') };
    return forkSession(this.#home, file, { ...options, ...folder, now });
  }

  async move(session: OpenSession, { folder, cwd }: MoveTarget): Promise<MoveReport> {
    const { writer, inMemory } = session.parts;
    if (inMemory) throw onlyInMemory('moveTo');
    return writer.quiet(async () => {
      await writer.follow();
      const record = { id: session.id, file: writer.file };
      const about = cwd ?? session.header.cwd;
      const target = { folder: this.folderFor(folder, about), cwd: about };
      const report = await moveSession(this.#home, record, target);
      writer.file = report.to;
      session.header = { ...session.header, cwd: target.cwd };
      return report;
    });
  }

  /** Moves a session that need not be open. */
  async moveFile(record: SessionRecord, { folder, cwd }: MoveTarget): Promise<MoveReport> {
    const about = cwd ?? (await readHeaderOf(this.#home.io, record.file)).cwd;
    return moveSession(this.#home, record, { folder: this.folderFor(folder, about), cwd: about });
  }

  async persist(session: OpenSession, folder: string | undefined): Promise<Session> {
    const { io, writer, inMemory } = session.parts;
    if (!inMemory) throw invalid('session', 'has a file already');
    const target = this.folderFor(folder, session.header.cwd);
    const file = join(target, toSessionName(session.id, session.header.timestamp));
    await makeFolders(this.#home.io, target);
    await writer.quiet(async () => {
      const from = { io, path: session.artifacts.folder };
      const artifacts = { from, to: artifactsOf(this.#home.io, file).folder };
      const entries = entriesOf(session);
      await persistSession(this.#home, { header: session.header, artifacts, entries }, file);
    });
    await session.close();
    return this.open({ id: session.id, file }, {});
  }

  resolve(session: OpenSession, url: string, range: LineRange): Promise<Resource> {
    return resolveUrl(this.sources(toSource(session)), url, range);
  }

  /** Returns each source once, `first` before all others. */
  sources(first?: UrlSource): UrlSource[] {
    const all = [...(first === undefined ? [] : [first]), ...[...this.#open].map(toSource)];
    return all.filter(
      ({ io, folder }, at) =>
        all.findIndex((other) => other.io === io && other.folder === folder) === at,
    );
  }

  release(session: OpenSession): void {
    this.#open.delete(session);
  }

  async closeAll(): Promise<void> {
    await Promise.allSettled([...this.#open].map((session) => session.close()));
  }

  async #start(io: Io, record: SessionRecord, options: NewSession): Promise<Session> {
    const { engine, registry, clock } = this.#home;
    const inMemory = io instanceof RamIo;
    const { header, size, leaf } = await readEnds(io, record.file);
    const refs = new SessionRefs(engine, record.id);
    const writer = new EntryWriter({
      io,
      file: record.file,
      size,
      leaf,
      redact: options.redact,
      putBlobs: inMemory ? undefined : (blobs, references) => refs.put(blobs, references),
      locate: async () => {
        const known = await registry.get(record.id);
        return known && currentFile(io, await assertOwn(this.#home, known));
      },
      now: () => new Date(clock()).toISOString(),
    });
    const parts = { io, engine, header, writer, keeper: this, inMemory };
    const artifacts = {
      parent: options.parent,
      artifactsOf: (file: string) => artifactsOf(io, file),
    };
    const session = new OpenSession({ ...parts, ...artifacts });
    this.#open.add(session);
    return session;
  }
}

async function writeHeader(io: Io, file: string, header: SessionHeader): Promise<void> {
  await makeFolders(io, dirname(file));
  await writeWhole(io, file, (target) => writeAll(target, encodeUtf8(`${toLine(header)}\n`), 0));
}

interface Ends {
  readonly header: SessionHeader;
  readonly size: number;
  readonly leaf: string | null;
}

/** Reads the header and the last entry: all that is needed to go on. */
function readEnds(io: Io, path: string): Promise<Ends> {
  return withFile(io, path, 'read', async (file) => {
    const { header, end } = await readHeader(file, path);
    const size = await file.size();
    // This finds only the entry to go on from. A reader of the entries is told whether they are what was written.
    const log = { file, path, header, from: end, to: size, sums: NO_SUMS };
    const reading = { readBlob: undefined, isEnough: (taken: number) => taken > 0 };
    const { entries } = await readLastEntries(log, reading, new ReadNotes());
    return { header, size, leaf: entries.at(-1)?.id ?? null };
  });
}

function checkNew({ cwd, header, redact }: NewSession): void {
  if (cwd !== undefined) checkString(cwd, 'cwd');
  checkRedact(redact);
  if (header !== undefined && !isFields(header)) throw invalid('header', 'must be an object');
}

function checkRedact(redact: unknown): void {
  if (redact !== undefined && typeof redact !== 'function')
    throw invalid('redact', 'must be a function');
}

function toOpen(session: Session): OpenSession {
  if (session instanceof OpenSession) return session;
  throw invalid('parent', 'must be a session that this store opened');
}

function artifactsOf(io: Io, file: string): Artifacts {
  const folder = artifactsFolderOf(file);
  if (folder !== undefined) return new Artifacts(io, folder);
  throw invalid(
    'file',
    `must be called <name>.jsonl, or it has no place for artifacts; got ${file}`,
  );
}

function toSource({ parts, artifacts }: OpenSession): UrlSource {
  return { io: parts.io, folder: artifacts.folder, inMemory: parts.inMemory };
}

async function* entriesOf(session: OpenSession): AsyncGenerator<SessionEntry> {
  for await (const { entry } of session.entries()) yield entry;
}

function onlyInMemory(verb: string): QuipuError<'UNSUPPORTED'> {
  const message = `session.${verb} needs files; call session.persist() first`;
  return unsupported(verb, 'a session in memory', message);
}

/** Gives a session that was in memory a file, and writes its artifacts, under the same ids. */
async function persistSession(
  { io, engine, registry }: SessionsHome,
  session: {
    readonly header: SessionHeader;
    readonly artifacts: { readonly from: FilePlace; readonly to: string };
    readonly entries: AsyncIterable<SessionEntry>;
  },
  file: string,
): Promise<void> {
  const { header, artifacts, entries } = session;
  const refs = new SessionRefs(engine, header.id);
  await registry.put({ id: header.id, file });
  const { from, to } = artifacts;
  if ((await from.io.stat(from.path))?.kind === 'folder') {
    await makeFolders(io, to);
    const source = new Artifacts(from.io, from.path);
    for (const name of await source.listFiles()) {
      const path = join(to, basename(name));
      await copyFile({ io: from.io, path: join(from.path, name) }, { io, path });
    }
    await new Artifacts(io, to).raiseCounters(await source.counters());
  }
  await writeWhole(io, file, async (target) => {
    let at = 0;
    const add = async (record: unknown): Promise<void> => {
      const bytes = encodeUtf8(`${toLine(record)}\n`);
      await writeAll(target, bytes, at);
      at += bytes.length;
    };
    await add(header);
    for await (const entry of entries) {
      const persisted = persistEntry(entry);
      await refs.put(persisted.blobs, referencesIn(toLine(persisted.entry)));
      await add(persisted.entry);
    }
  });
}
