import { dirname, join } from 'node:path';
import { exists, invalid } from '../base/errors.ts';
import { isFields } from '../base/fields.ts';
import { checkString, encodeUtf8 } from '../base/text.ts';
import type { Io } from '../engine/io.ts';
import { exportSession, importSession } from './carry/export-session.ts';
import { forkSession } from './carry/fork-session.ts';
import { moveSession, toTarget } from './carry/move-session.ts';
import { referencesIn, persistEntry } from './entries/pictures.ts';
import {
  SESSION_VERSION,
  newSessionId,
  toLine,
  type SessionHeader,
} from './entries/session-entry.ts';
import { NO_SUMS, coverSeen } from './files/file-sums.ts';
import { RamIo } from './files/ram-io.ts';
import { artifactsFolderOf, folderFor, toSessionName } from './files/session-names.ts';
import { makeFolders, writeAll, writeWhole } from './files/write-file.ts';
import { assertOwn, findSession, standingOf } from './keep/find-session.ts';
import {
  describeSession,
  listSessions,
  removeSession,
  tidySessions,
} from './keep/manage-sessions.ts';
import { EntryWriter } from './log/entry-writer.ts';
import { ReadNotes, readLastEntries } from './log/read-entries.ts';
import { readHeader, recoverHeader, withFile } from './log/session-file.ts';
import { OpenSession, type OtherSessions } from './open-session.ts';
import {
  Registry,
  currentFile,
  type SessionRecord,
  type SessionsHome,
} from './records/registry.ts';
import { SessionRefs } from './records/session-refs.ts';
import type { NewSession, Session, SessionOptions, Sessions } from './sessions.ts';
import { resolveUrl, type UrlSource } from './urls/resolve-url.ts';

export interface SessionsOptions extends Omit<SessionsHome, 'registry'> {
  /** Called when the store closes, before the engine does. */
  readonly onClose: (hook: () => Promise<void>) => unknown;
}

/** The caller sees to it that the store is open. */
export function createSessions({ onClose, ...given }: SessionsOptions): Sessions {
  const home: SessionsHome = { ...given, registry: new Registry(given.engine, given.host) };
  const shelf = new SessionShelf(home);
  onClose(() => shelf.closeAll());
  const find = (session: string): Promise<SessionRecord> => findSession(home, session);
  return {
    create: async (options = {}) => shelf.create(options),
    open: async (session, options = {}) => shelf.open(await find(session), options),
    list: async (page = {}) => listSessions(home, page),
    details: async (session) => describeSession(home, await find(session)),
    fork: async (session, options = {}) => forkSession(home, (await find(session)).file, options),
    async move(session, to, { cwd } = {}) {
      const target = toTarget(to, cwd);
      return moveSession(home, await find(session), target);
    },
    async remove(session) {
      const record = await find(session);
      // Nobody knows whose files those are, so they stay.
      if ((await standingOf(home, record)) === 'unproved') await home.registry.remove(record.id);
      else await removeSession(home, record);
    },
    recoverHeader: async (file) => recoverHeader(home.io, file),
    async resolve(url, { session, ...range } = {}) {
      if (session === undefined) return resolveUrl(shelf.sources(), url, range);
      const record = await find(session);
      const folder = artifactsFolderOf(record.file);
      const isOwn = folder !== undefined && (await standingOf(home, record)) === 'own';
      const own = isOwn ? { io: home.io, folder, inMemory: false } : undefined;
      return resolveUrl(shelf.sources(own), url, range);
    },
    export: async (session, folder) => exportSession(home, await find(session), folder),
    import: async (from, { folder } = {}) => shelf.open(await importSession(home, from, folder)),
    tidy: async (options = {}) => tidySessions(home, options),
  };
}

/**
 * The sessions that are open here. Addresses lead to their artifacts, in the order in which the sessions were opened.
 */
class SessionShelf implements OtherSessions {
  readonly #home: SessionsHome;
  readonly #open = new Set<OpenSession>();

  constructor(home: SessionsHome) {
    this.#home = home;
  }

  async create(options: NewSession): Promise<Session> {
    const { clock, io, root, engine } = this.#home;
    checkNew(options);
    const timestamp = new Date(clock()).toISOString();
    const cwd = options.cwd ?? process.cwd();
    const id = newSessionId(clock());
    const given = persistEntry({ ...options.header });
    const fields = { type: 'session', version: SESSION_VERSION, id, timestamp, cwd } as const;
    const header: SessionHeader = { ...given.entry, ...fields };
    const name = toSessionName(id, timestamp);
    if (options.parent !== undefined) return this.#createChild(options.parent, header, options);
    if (options.inMemory === true) {
      return this.#begin(new RamIo(), join('/session', name), header, options);
    }
    const file = join(folderFor(root, options.folder, cwd), name);
    await new SessionRefs(engine, id).put(given.blobs, referencesIn(toLine(header)));
    return this.#begin(io, file, header, options);
  }

  /** A child is kept where its parent is: on the same disk, or in the same memory. */
  async #createChild(
    parent: Session,
    header: SessionHeader,
    options: NewSession,
  ): Promise<Session> {
    if (!(parent instanceof OpenSession)) {
      throw invalid('parent', 'must be a session that this store opened');
    }
    const { io, writer } = parent.parts;
    await writer.follow();
    const id = options.agentId ?? '';
    const file = parent.artifacts.agentSessionFile(id);
    if (((await io.stat(file))?.size ?? 0) > 0) {
      const message = `agent ${id} has its session already: ${file}; allocate another one`;
      throw exists('session', id, message);
    }
    return this.#begin(io, file, { ...header, parentSession: parent.id }, options);
  }

  /** The store knows of the file before it is there. Nobody is told of a session in memory. */
  async #begin(io: Io, file: string, header: SessionHeader, options: NewSession): Promise<Session> {
    const { registry } = this.#home;
    const { id } = header;
    const isKept = !(io instanceof RamIo);
    if (isKept) await registry.put({ id, file });
    try {
      const line = encodeUtf8(`${toLine(header)}\n`);
      await makeFolders(io, dirname(file));
      await writeWhole(io, file, (target) => writeAll(target, line, 0));
    } catch (error) {
      if (isKept) await registry.remove(id);
      throw error;
    }
    if (isKept) await coverSeen(io, file);
    return this.#start(io, { id, file }, options);
  }

  async open(record: SessionRecord, options: SessionOptions = {}): Promise<Session> {
    const { io } = this.#home;
    checkRedact(options.redact);
    await coverSeen(io, record.file);
    return this.#start(io, record, options);
  }

  async #start(
    io: Io,
    { id, file }: SessionRecord,
    { redact, parent }: NewSession,
  ): Promise<Session> {
    const home = this.#home;
    const { header, ...ends } = await readEnds(io, file);
    const refs = new SessionRefs(home.engine, id);
    const writer = new EntryWriter({
      io,
      file,
      ...ends,
      redact,
      putBlobs:
        io instanceof RamIo ? undefined : (blobs, references) => refs.put(blobs, references),
      locate: async () => {
        const known = await home.registry.get(id);
        return known && currentFile(io, await assertOwn(home, known));
      },
      now: () => new Date(home.clock()).toISOString(),
    });
    const session = new OpenSession({ home, io, header, writer, parent, others: this });
    this.#open.add(session);
    return session;
  }

  /** Returns each source once, `first` before all others. */
  sources(first?: UrlSource): UrlSource[] {
    const open = [...this.#open].map(({ source }) => source);
    const all = first === undefined ? open : [first, ...open];
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
}

interface Ends {
  readonly header: SessionHeader;
  readonly size: number;
  readonly leaf: string | null;
}

/** Reads the header and the last entry: all that is needed to go on. */
function readEnds(io: Io, path: string): Promise<Ends> {
  return withFile(io, path, async (file) => {
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
