import { join } from 'node:path';
import type { Engine } from '../../engine/engine.ts';
import type { Io, IoStat } from '../../engine/io.ts';
import type { Root } from '../../engine/roots.ts';
import { withFile } from '../log/open-session-file.ts';
import { artifactsFolderOf, tornFileOf } from '../log/session-names.ts';
import { NOT_ITS_OWN, standingOf } from './own-file.ts';
import { Registry, currentFile } from './registry.ts';
import type { SessionRecord } from './registry.ts';
import { scanReferences } from './scan-references.ts';
import { isSameFile, readSearched, rememberSearched } from './searched-files.ts';
import type { Searched } from './searched-files.ts';

export interface UnreadFile {
  readonly id: string;
  readonly file: string;
  readonly why: string;
}

interface Seen {
  readonly of: string;
  readonly stat: IoStat | undefined;
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
export class FilesInUse {
  readonly unread: UnreadFile[] = [];
  readonly #engine: Engine;
  readonly #io: Io;
  readonly #root: string | undefined;
  /** By path. */
  readonly #seen = new Map<string, Seen>();
  /** References whose blob the store does not have, and the sessions they belong to. */
  readonly #wanted = new Map<string, string>();
  readonly #heard: SessionRecord[] = [];
  #keepsAll = false;

  /** `root` is the store's own folder of sessions. */
  constructor(engine: Engine, io: Io, root: string | undefined) {
    this.#engine = engine;
    this.#io = io;
    this.#root = root;
  }

  /** Adds a session that became known while the collection runs. */
  hear(record: SessionRecord): void {
    this.#heard.push(record);
  }

  want(sha256: string, of: string): void {
    this.#wanted.set(sha256, of);
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
      if (!isSameFile(known.get(file), await this.#io.stat(file))) await this.#assertOwn(record);
      yield* this.#read(file, reading);
      yield* this.#read(tornFileOf(file), reading, true);
      const folder = artifactsFolderOf(file);
      if (folder !== undefined) yield* this.#readFolder(folder, reading);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.unread.push({ id, file, why });
      return;
    }
    // A copy is read with its session, and is not remembered.
    const current = remembers ? await new Registry(this.#engine).get(id) : undefined;
    if (current?.file === record.file) await rememberSearched(this.#engine, reading);
  }

  async #assertOwn(record: SessionRecord): Promise<void> {
    const standing = await standingOf({ io: this.#io, root: this.#root }, record);
    if (standing !== 'own') throw new Error(NOT_ITS_OWN);
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
    for (const record of this.#heard.splice(0)) {
      // A session is noted before it is written. A file that is not there yet refers to nothing that was not noted,
      // too.
      const isThere = (await this.#io.stat(await currentFile(this.#io, record))) !== undefined;
      if (isThere) yield* this.take(record, false);
      else this.#heard.push(record);
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
    const found = await withFile(this.#io, path, 'read', (file) => scanReferences(file));
    this.#seen.set(path, { of, stat });
    for (const sha256 of found) {
      references?.add(sha256);
      const blob = await this.#engine.findBySha256(sha256);
      if (blob === undefined) this.want(sha256, of);
      else yield { blob, of };
    }
  }
}
