import { join } from 'node:path';
import { corrupt } from '../../base/errors.ts';
import type { DocChange } from '../../engine/batch.ts';
import { eachDoc } from '../../engine/names.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Io } from '../../engine/io.ts';
import { parseStored } from '../../engine/json-text.ts';
import type { DocRow } from '../../engine/rows.ts';
import { artifactsFolderOf, isSessionName } from '../files/session-names.ts';
import { idIn } from '../log/session-file.ts';
import {
  COPIES_PREFIX,
  SESSIONS_PREFIX,
  copyDoc,
  seenDoc,
  sessionDoc,
  SessionRefs,
} from './session-refs.ts';

/** The disk and the store that sessions are kept in. */
export interface SessionsHome {
  readonly io: Io;
  readonly engine: Engine;
  readonly registry: Registry;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The folder for sessions that were given none; undefined for a store that is on another machine. */
  readonly root: string | undefined;
  /** The name of this machine, for a store that is on no machine or on another. */
  readonly host?: string | undefined;
  /**
   * True on a server, where any client with a token names sessions: a session is used only if its file is below `root`.
   */
  readonly confined?: boolean;
}

/** The store's record of a session: the place of its file, in whatever folder. */
export interface SessionRecord {
  readonly id: string;
  readonly file: string;
  /** A move is under way: once `file` is gone, the file at this path is the session. */
  readonly movingTo?: string;
  /** The machine that has the file, where the store is not on that machine. */
  readonly host?: string;
}

/** The list of sessions. */
export class Registry {
  readonly #engine: Engine;
  readonly #host: string | undefined;

  /** `host`: the name of this machine, for a store whose sessions may be on several. */
  constructor(engine: Engine, host?: string) {
    this.#engine = engine;
    this.#host = host;
  }

  async get(id: string): Promise<SessionRecord | undefined> {
    const row = await this.#engine.getDoc(sessionDoc(id));
    return row && parseRecord(row);
  }

  async put(record: SessionRecord): Promise<void> {
    const { id, file, movingTo } = record;
    const host = this.#host;
    const content = JSON.stringify({ id, file, movingTo, host });
    await this.#engine.commit({ docs: [{ name: sessionDoc(id), content }] });
  }

  /** Notes a second file of one session. It is not the session's record, but its references count as in use. */
  async noteCopy({ id, file }: SessionRecord): Promise<void> {
    const name = copyDoc(file);
    if ((await this.#engine.getDoc(name)) !== undefined) return;
    await this.#engine.commit({ docs: [{ name, content: JSON.stringify({ id, file }) }] });
  }

  async forgetCopy(file: string): Promise<void> {
    const name = copyDoc(file);
    if ((await this.#engine.getDoc(name)) === undefined) return;
    await this.#engine.commit({ docs: [{ name, content: undefined }] });
  }

  /** Forgets the session and releases its blobs, at once. */
  async remove(id: string): Promise<void> {
    const refs = await new SessionRefs(this.#engine, id).names();
    const hasSeen = (await this.#engine.getDoc(seenDoc(id))) !== undefined;
    const names = [sessionDoc(id), ...refs, ...(hasSeen ? [seenDoc(id)] : [])];
    const docs = names.map((name): DocChange => ({ name, content: undefined }));
    await this.#engine.commit({ docs });
  }

  async list(
    limit: number,
    cursor?: string,
  ): Promise<{ records: readonly SessionRecord[]; cursor?: string }> {
    const after = cursor === undefined ? undefined : SESSIONS_PREFIX + cursor;
    const names = await this.#engine.listDocs(SESSIONS_PREFIX, limit, after);
    const records: SessionRecord[] = [];
    for (const name of names) {
      const row = await this.#engine.getDoc(name);
      if (row !== undefined) records.push(parseRecord(row));
    }
    const last = names.at(-1)?.slice(SESSIONS_PREFIX.length);
    return names.length < limit || last === undefined ? { records } : { records, cursor: last };
  }

  all(): AsyncGenerator<SessionRecord> {
    return this.#walk(SESSIONS_PREFIX);
  }

  copies(): AsyncGenerator<SessionRecord> {
    return this.#walk(COPIES_PREFIX);
  }

  async *#walk(prefix: string): AsyncGenerator<SessionRecord> {
    for await (const row of eachDoc(this.#engine, prefix)) yield parseRecord(row);
  }
}

/** The current file of the session, whether or not a move got to its end. */
export async function currentFile(io: Io, record: SessionRecord): Promise<string> {
  const { file, movingTo } = record;
  if (movingTo === undefined || (await io.stat(file)) !== undefined) return file;
  return (await io.stat(movingTo)) === undefined ? file : movingTo;
}

export function parseRecord(row: Pick<DocRow, 'name' | 'content'>): SessionRecord {
  const { id, file, movingTo, host } = parseStored(row.name, row.content);
  if (typeof id !== 'string' || typeof file !== 'string') {
    throw corrupt(row.name, `the document ${row.name} does not say where its session is`);
  }
  return {
    id,
    file,
    ...(typeof movingTo === 'string' && { movingTo }),
    ...(typeof host === 'string' && { host }),
  };
}

/**
 * Finds the sessions of agents that the store knows at `from` and whose files are in the artifacts of `file`. Where the
 * artifacts of one session go, the records of these sessions go with them.
 */
export async function childrenOf(
  { io, registry }: { io: Io; registry: Registry },
  from: string,
  file: string = from,
): Promise<SessionRecord[]> {
  const [old, folder] = [artifactsFolderOf(from), artifactsFolderOf(file)];
  if (old === undefined || folder === undefined) return [];
  if ((await io.stat(folder))?.kind !== 'folder') return [];
  const children: SessionRecord[] = [];
  for (const name of await io.list(folder)) {
    if (!isSessionName(name)) continue;
    const id = await idIn(io, join(folder, name));
    const known = id === undefined ? undefined : await registry.get(id);
    if (known?.file === join(old, name)) children.push({ id: known.id, file: join(folder, name) });
    // An agent that was opened by itself has artifacts of its own, with sessions of its own agents.
    children.push(...(await childrenOf({ io, registry }, join(old, name), join(folder, name))));
  }
  return children;
}
