import { join } from 'node:path';
import type { Hash } from '../../base/brand.ts';
import { orNothing, messageOf } from '../../base/errors.ts';
import { eachDoc } from '../../engine/names.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Io, IoStat } from '../../engine/io.ts';
import { parseStored } from '../../engine/json-text.ts';
import type { Root, RootSource } from '../../engine/roots.ts';
import type { DocRow } from '../../engine/rows.ts';
import { scanReferences } from '../entries/pictures.ts';
import { artifactsFolderOf, tornFileOf } from '../files/session-names.ts';
import { withFile } from '../log/session-file.ts';
import { Registry, parseRecord, currentFile, type SessionRecord } from '../records/registry.ts';
import {
  COPIES_PREFIX,
  REFS_PREFIX,
  SESSIONS_PREFIX,
  parseRefsPage,
  seenDoc,
  SessionRefs,
} from '../records/session-refs.ts';
import { NOT_ITS_OWN, standingOf } from './find-session.ts';

/**
 * Yields every blob that a session refers to: those that the store was told of, and those in the files themselves,
 * because other programs write lines there. While a file cannot be read, every blob that a line could name stays.
 * `hasFiles` is false for files that are on other machines, `root` is the store's own folder of sessions.
 */
export function sessionRoots(
  engine: Engine,
  io: Io,
  {
    hasFiles = true,
    root,
  }: { readonly hasFiles?: boolean; readonly root?: string | undefined } = {},
): RootSource {
  const files = new FilesInUse(engine, io, root);
  return {
    kind: 'sessions',
    async *roots() {
      for await (const row of eachDoc(engine, REFS_PREFIX)) yield* files.takePage(row);
      const registry = new Registry(engine);
      if (hasFiles) {
        for await (const record of registry.all()) yield* files.take(record);
        for await (const record of registry.copies()) yield* files.take(record, false);
      }
      yield* files.resolve();
      yield* files.keepAll();
    },
    *rootsIn({ docs }) {
      for (const row of docs) {
        const isRecord = [SESSIONS_PREFIX, COPIES_PREFIX].some((name) => row.name.startsWith(name));
        if (row.name.startsWith(REFS_PREFIX)) yield* files.takePage(row);
        else if (isRecord && hasFiles) files.heard.push(parseRecord(row));
      }
    },
    late: () => files.late(),
    unread: () => files.unread.map(({ id, file, why }) => `session ${id} at ${file}: ${why}`),
  };
}

/** One session while its files are read. */
interface Reading {
  readonly id: string;
  readonly known: Searched;
  readonly searched: Map<string, IoStat>;
  readonly references: Set<string>;
}

/**
 * The references in the files of sessions, during one garbage collection. Each file is read once, and then only its new
 * part.
 */
class FilesInUse {
  readonly unread: { readonly id: string; readonly file: string; readonly why: string }[] = [];
  /** Sessions that became known while the collection runs. */
  readonly heard: SessionRecord[] = [];
  readonly #engine: Engine;
  readonly #io: Io;
  readonly #root: string | undefined;
  /** By path. */
  readonly #seen = new Map<string, { readonly of: string; readonly stat: IoStat | undefined }>();
  /** References whose blob the store does not have, and the sessions they belong to. */
  readonly #wanted = new Map<string, string>();
  #keepsAll = false;

  /** `root` is the store's own folder of sessions. */
  constructor(engine: Engine, io: Io, root: string | undefined) {
    this.#engine = engine;
    this.#io = io;
    this.#root = root;
  }

  /** Yields the blobs on a page of references. Those that the store lacked then may be there by now. */
  *takePage(row: DocRow): Generator<Root> {
    const [of = ''] = row.name.slice(REFS_PREFIX.length).split('/');
    for (const [sha256, hash] of Object.entries(parseRefsPage(row))) {
      if (hash === null) this.#wanted.set(sha256, of);
      else yield { blob: hash as Hash, of };
    }
  }

  /**
   * Yields everything that a session refers to: in its file, in the bytes that a crash cut off, and in its artifacts.
   */
  async *take(record: SessionRecord, remembers = true): AsyncGenerator<Root> {
    const { id } = record;
    const file = await currentFile(this.#io, record);
    const known = await readSearched(this.#engine, id);
    const reading: Reading = { id, known, searched: new Map(), references: new Set() };
    try {
      // A file that was read before, and has not changed since, was the session's own then.
      if (!isSameFile(known.get(file), await this.#io.stat(file))) {
        const standing = await standingOf({ io: this.#io, root: this.#root }, record);
        if (standing !== 'own') throw new Error(NOT_ITS_OWN);
      }
      yield* this.#read(file, reading);
      yield* this.#read(tornFileOf(file), reading, true);
      const folder = artifactsFolderOf(file);
      if (folder !== undefined) yield* this.#readFolder(folder, reading);
    } catch (error) {
      this.unread.push({ id, file, why: messageOf(error) });
      return;
    }
    // A copy is read with its session, and is not remembered.
    const current = remembers ? await new Registry(this.#engine).get(id) : undefined;
    if (current?.file === record.file) await rememberSearched(this.#engine, reading);
  }

  /** Yields the blobs that the store lacked before and has by now. */
  async *resolve(): AsyncGenerator<Root> {
    for (const [sha256, of] of this.#wanted) {
      const blob = await this.#engine.findBySha256(sha256);
      if (blob === undefined) continue;
      this.#wanted.delete(sha256);
      yield { blob, of };
    }
  }

  /** Yields the references written since, in every file. Commits nothing. */
  async *late(): AsyncGenerator<Root> {
    for (const record of this.heard.splice(0)) {
      // A session is noted before it is written. A file that is not there yet refers to nothing that was not noted,
      // too.
      const isThere = (await this.#io.stat(await currentFile(this.#io, record))) !== undefined;
      if (isThere) yield* this.take(record, false);
      else this.heard.push(record);
    }
    for (const [path, { of, stat }] of this.#seen) {
      const now = await this.#io.stat(path);
      // A file that is gone was read before, and the blobs it referred to stay this time.
      if (now?.kind === 'file' && !isSameFile(now, stat)) yield* this.#scan(path, of, now);
    }
    yield* this.resolve();
    yield* this.keepAll();
  }

  /** When a file cannot be read, yields every blob that a line could name. */
  async *keepAll(): AsyncGenerator<Root> {
    const [first] = this.unread;
    if (first === undefined || this.#keepsAll) return;
    this.#keepsAll = true;
    for await (const page of this.#engine.upkeep.records.sha256Names()) {
      for (const { hash } of page) yield { blob: hash, of: first.id };
    }
  }

  async *#readFolder(folder: string, reading: Reading): AsyncGenerator<Root> {
    if ((await this.#io.stat(folder))?.kind !== 'folder') return;
    for (const name of await this.#io.list(folder)) {
      if (name.startsWith('.')) continue;
      const path = join(folder, name);
      const kind = (await this.#io.stat(path))?.kind;
      if (kind === 'folder') yield* this.#readFolder(path, reading);
      else if (kind === 'file') yield* this.#read(path, reading, true);
    }
  }

  async *#read(path: string, reading: Reading, mayBeGone = false): AsyncGenerator<Root> {
    const stat = await this.#io.stat(path);
    if (stat === undefined && mayBeGone) return;
    if (stat !== undefined) reading.searched.set(path, stat);
    if (isSameFile(reading.known.get(path), stat)) {
      // The references of this file are noted with the session.
      this.#seen.set(path, { of: reading.id, stat });
      return;
    }
    yield* this.#scan(path, reading.id, stat, reading.references);
  }

  async *#scan(
    path: string,
    of: string,
    stat: IoStat | undefined,
    references?: Set<string>,
  ): AsyncGenerator<Root> {
    const found = await withFile(this.#io, path, (file) => scanReferences(file));
    this.#seen.set(path, { of, stat });
    for (const sha256 of found) {
      references?.add(sha256);
      const blob = await this.#engine.findBySha256(sha256);
      if (blob === undefined) this.#wanted.set(sha256, of);
      else yield { blob, of };
    }
  }
}

// The files of a session that were searched for references, and their state at that time. This list is in the store,
// with the references themselves, so that both are of one time: a store that is restored knows neither.

/** Times of files may be as coarse as this: a file that changed just now may change again and look the same. */
const SETTLED_MS = 2000;

/** By path. */
type Searched = ReadonlyMap<string, IoStat>;

async function readSearched(engine: Engine, id: string): Promise<Searched> {
  const row = await engine.getDoc(seenDoc(id));
  if (row === undefined) return new Map();
  const files = Object.entries(parseStored(row.name, row.content));
  return new Map(files.map(([path, stat]) => [path, { ...(stat as IoStat), kind: 'file' }]));
}

/** Never true without a time to compare. */
function isSameFile(one: IoStat | undefined, other: IoStat | undefined): boolean {
  if (one === undefined || other?.changedMs === undefined) return false;
  return one.size === other.size && one.changedMs === other.changedMs;
}

/** Notes the references found, then the files. If this fails, as with a full disk, the cost is another search. */
async function rememberSearched(
  engine: Engine,
  { id, known, searched, references }: Reading,
): Promise<void> {
  const settled = [...searched].filter(([path, stat]) => {
    const { changedMs = Infinity } = stat;
    return isSameFile(known.get(path), stat) || Date.now() - changedMs > SETTLED_MS;
  });
  const isNew = settled.some(([path, stat]) => !isSameFile(known.get(path), stat));
  if (!isNew && settled.length === known.size) return;
  const files = settled.map(([path, { size, changedMs }]) => [path, { size, changedMs }] as const);
  await orNothing(async () => {
    await new SessionRefs(engine, id).adopt(references);
    const content = JSON.stringify(Object.fromEntries(files));
    await engine.commit({ docs: [{ name: seenDoc(id), content }] });
  });
}
