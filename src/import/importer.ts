import { createReadStream } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { hashText, sha256Hex } from '../base/hash.ts';
import type { Attached } from './fold/externalise.ts';
import { boundDetails, boundHead, toSessionName } from './fold/details.ts';
import { Session, type NamedTurn } from './fold/session.ts';
import { isOfFile, noteFailed } from './keep/import-report.ts';
import type { FileEntry } from './keep/ledger.ts';
import { SessionWriter, type WriteTask } from './keep/session-writer.ts';
import { fingerprint, readRecords, type Read } from './read/read-records.ts';
import type { RecordReader, SessionDetails, Source, SourceFile, Taken } from './source/source.ts';
import { statFile } from './source/walk-folder.ts';

// Reads one file after the other, folds their records into sessions, and hands what is new to the writer. Files are
// read in order, while what came of the files before is still being written.

/** So much is planned before it is written. */
const FLUSH_BYTES = 4 * 1024 * 1024;
const FLUSH_TURNS = 4000;
/** A longer text beside a session stays where it is. */
const ATTACHED_BYTES_MAX = 64 * 1024 * 1024;
/** A longer line that is no record is kept as a blob: as a text in JSON, a NUL takes six bytes. */
const BAD_CHARS_MAX = 1024 * 1024;
/** A time so much later than now is counted. */
const CLOCK_SLACK_MS = 86_400_000;

/** What an import reads, where it writes, and how. */
interface Task extends WriteTask {
  readonly source: Source;
  /** Only sessions about this folder, or one below it. */
  readonly project?: string;
  /** Called with the number of bytes read since the last call. */
  readonly onBytes?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** Where the reading of a file begins, and what is known of it. */
interface Begin {
  readonly offset: number;
  readonly state: unknown;
}

interface Reading {
  readonly file: SourceFile;
  readonly reader: RecordReader;
  /** Sessions that records of the file belong to. */
  readonly sessions: Map<string, Session>;
  /** The number of times that records without ids had a text, by session and text. */
  readonly seen: Map<string, number>;
  readonly goesOn: boolean;
  /** The position behind the last record. */
  end: number;
}

export class Importer {
  readonly #task: Task;
  readonly #writer: SessionWriter;

  constructor(task: Task) {
    this.#task = task;
    this.#writer = new SessionWriter(task);
  }

  /**
   * Resolves when the file is read. What came of it may not be written yet: see `drain`. Of a file that is open, what is
   * held back waits for a later call.
   */
  async importFile(found: SourceFile, isOpen = false): Promise<void> {
    const file = { ...found, session: toSessionName(found.session) };
    const { report } = this.#task;
    report.files += 1;
    const begin = await this.#compare(file);
    if (begin === undefined) {
      report.unchanged += 1;
      this.#task.onBytes?.(file.size);
      return;
    }
    const sessions = new Map<string, Session>();
    try {
      await this.#read(file, begin, sessions, isOpen);
    } catch (error) {
      if (!isOfFile(error)) throw error;
      this.#writer.forget(sessions.keys());
      noteFailed(report, file.path, error);
    }
  }

  /** Everything that was read is stored when this resolves. */
  async drain(): Promise<void> {
    await this.#writer.drain();
    if (!this.#task.dryRun) await this.#task.ledger.sum();
  }

  /** Undefined for a file that is as it was. */
  async #compare(file: SourceFile): Promise<Begin | undefined> {
    const entry = this.#task.ledger.files.get(file.path);
    if (entry === undefined) return { offset: 0, state: undefined };
    const looksSame = entry.size === file.size && entry.modifiedMs === file.modifiedMs;
    if (file.records !== undefined) {
      return looksSame && entry.done ? undefined : { offset: 0, state: undefined };
    }
    const inLines = file.form === 'lines' && file.packed === undefined;
    const same =
      (await fingerprint(file.path, inLines ? entry.offset : entry.size)) === entry.fingerprint;
    if (looksSame && same && entry.done) return undefined;
    return inLines && same
      ? { offset: entry.offset, state: entry.state }
      : { offset: 0, state: undefined };
  }

  async #read(
    file: SourceFile,
    begin: Begin,
    sessions: Map<string, Session>,
    isOpen: boolean,
  ): Promise<void> {
    const { signal, onBytes, project } = this.#task;
    const reader = this.#task.source.read(file, begin.state);
    const reading: Reading = {
      file,
      reader,
      sessions,
      seen: new Map(),
      goesOn: begin.offset > 0,
      end: begin.offset,
    };
    if (file.details !== undefined) {
      await this.#describe(await this.#session(reading, file.session), file.details);
    }
    const isRecord = (value: object): boolean => this.#task.source.isRecord(value);
    const reads = readRecords(file, begin.offset, isRecord, this.#task.report);
    let counted = 0;
    for await (const batch of reads) {
      for (const read of batch) await this.#takeRead(reading, read);
      if (project !== undefined && !isAbout(reading, project))
        return this.#writer.forget(sessions.keys());
      const size = [...sessions.values()].reduce((sum, s) => sum + s.workBytes, 0);
      const turns = [...sessions.values()].reduce((sum, s) => sum + s.workTurns, 0);
      if (size > FLUSH_BYTES || turns > FLUSH_TURNS)
        await (await this.#flush(reading, false)).written();
      signal?.throwIfAborted();
      onBytes?.(Math.min(reading.end, file.size) - counted);
      counted = Math.min(reading.end, file.size);
    }
    if (!isOpen) {
      await this.#takeAll(reading, reader.end?.() ?? [], reading.end);
      for (const session of sessions.values()) session.settle();
    }
    await this.#flush(reading, !isOpen);
    this.#task.report.bytesIn += Math.max(0, file.size - begin.offset);
    onBytes?.(Math.max(0, file.size - counted));
  }

  async #takeRead(reading: Reading, read: Read): Promise<void> {
    const { report } = this.#task;
    if (read.is === 'tail') {
      report.tails += 1;
      return;
    }
    if (read.is === 'record') {
      await this.#takeAll(reading, reading.reader.take(read.record), read.record.offset);
    } else {
      report[read.is] += 1;
      const session = await this.#session(reading, reading.file.session);
      const kept =
        read.is === 'long'
          ? {
              blob: await this.#putBlob(
                createReadStream(reading.file.path, { start: read.start, end: read.end - 1 }),
              ),
            }
          : read.raw.length > BAD_CHARS_MAX
            ? { blob: await this.#putBlob(Buffer.from(read.raw)) }
            : { bad: read.raw };
      session.newAsides.push({ after: session.last, ...kept });
    }
    reading.end = read.end;
  }

  async #putBlob(
    bytes: Uint8Array | AsyncIterable<Uint8Array>,
  ): Promise<{ sha256: string; hash: string }> {
    if (this.#task.dryRun) return { sha256: '', hash: '' };
    const { sha256 = '', hash } = await this.#task.store.blobs.put(bytes, { sha256: true });
    return { sha256, hash };
  }

  async #takeAll(reading: Reading, items: readonly Taken[], offset: number): Promise<void> {
    for (const found of items) {
      const item =
        found.do === 'details' || found.head === undefined
          ? found
          : { ...found, head: boundHead(found.head) };
      const name = nameOf(reading.file, item.session);
      const session = reading.sessions.get(name) ?? (await this.#session(reading, name));
      if (item.do === 'aside') {
        this.#task.report.asides += 1;
        session.take({ item: nameOne(reading, session, item), offset });
      } else if (item.do === 'details') {
        await this.#describe(session, item.details);
      } else {
        const turn = { ...item, parts: item.parts.map((part) => nameOne(reading, session, part)) };
        if (session.wantsOrigin) await this.#findOrigin(session, turn);
        const attached = await this.#attach(reading, session, turn);
        if ((item.head.at ?? 0) > Date.now() + CLOCK_SLACK_MS) this.#task.report.future += 1;
        session.take({ item: turn, offset, attached });
      }
    }
  }

  async #describe(session: Session, details: SessionDetails): Promise<void> {
    const { copyOf, ...rest } = boundDetails(details);
    session.describe(rest);
    if (copyOf === undefined || copyOf.session === session.name || !session.wantsOrigin) return;
    const origin = await this.#writer.find(copyOf.session);
    if (origin !== undefined) session.copyFrom(origin, copyOf.at);
    else session.describe({ more: { copyOf: copyOf.session } });
  }

  async #findOrigin(session: Session, item: NamedTurn): Promise<void> {
    const names = session.globalIds(item).map((id) => this.#task.ledger.firsts.get(id));
    const name = names.find((found) => found !== undefined && found !== session.name);
    const origin = name === undefined ? undefined : await this.#writer.find(name);
    if (origin !== undefined) session.copyFrom(origin);
  }

  /** Texts in the folders of the session. What a record names is only ever the last part of a path. */
  async #attach({ file }: Reading, session: Session, item: NamedTurn): Promise<Attached[]> {
    if (item.files === undefined && file.blobFolder === undefined) return [];
    if (item.parts.every(({ id }) => session.find(id) !== undefined)) return [];
    const attached: Attached[] = [];
    for (const [pointer, named] of Object.entries(item.files ?? {})) {
      const bytes = await readBeside(file.folders ?? [], named);
      if (bytes !== undefined)
        attached.push({ pointer, blob: { sha256: sha256Hex(bytes), bytes } });
    }
    if (file.blobFolder !== undefined) {
      for (const { raw } of item.parts)
        attached.push(...(await readReferences(file.blobFolder, raw)));
    }
    return attached;
  }

  async #session(reading: Reading, name: string): Promise<Session> {
    const known = reading.sessions.get(name);
    if (known !== undefined) return known;
    const session = (await this.#writer.find(name)) ?? new Session(this.#task.source, name);
    reading.sessions.set(name, session);
    const { session: owner } = reading.file;
    if (name.startsWith(`${owner}/agent-`)) {
      session.describe({ parent: { session: owner, agent: name.slice(`${owner}/agent-`.length) } });
    }
    return session;
  }

  /** Resolves when there is room to go on; `written` resolves when everything is stored. */
  async #flush(
    reading: Reading,
    done: boolean,
  ): Promise<{ readonly written: () => Promise<void> }> {
    const { file, reader, sessions, end } = reading;
    const waits = [...sessions.values()].map(({ waitsFrom }) => waitsFrom ?? end);
    const inLines = file.form === 'lines' && file.packed === undefined;
    const offset = inLines ? Math.min(reader.heldFrom ?? end, ...waits) : 0;
    const print =
      file.records === undefined ? await fingerprint(file.path, inLines ? offset : file.size) : '';
    const entry: FileEntry = {
      path: file.path,
      size: file.size,
      modifiedMs: file.modifiedMs,
      offset,
      done,
      fingerprint: print,
      session: file.session,
      state: reader.save?.() ?? null,
    };
    return this.#writer.submit(file, [...sessions.values()], entry);
  }
}

function isAbout({ sessions }: Reading, project: string): boolean {
  const folders = [...sessions.values()].map(({ details }) => details.cwd);
  const known = folders.filter((cwd) => cwd !== undefined);
  return (
    known.length === 0 || known.some((cwd) => cwd === project || cwd.startsWith(`${project}/`))
  );
}

function nameOf({ session }: SourceFile, given: string | undefined): string {
  return toSessionName(given?.startsWith('/') === true ? `${session}${given}` : (given ?? session));
}

/**
 * A record without an id is named by its text and by how often it came: in the part of the file that is read now, and
 * in the part before it.
 */
function nameOne<
  T extends { readonly id?: string | undefined; readonly text?: string; readonly raw: string },
>({ seen, goesOn }: Reading, session: Session, item: T): T & { readonly id: string } {
  if (item.id !== undefined) return { ...item, id: item.id };
  const hash = hashText(item.text ?? item.raw).slice(0, 32);
  const key = `${session.name}/${hash}`;
  let count = seen.get(key) ?? 0;
  if (count === 0 && goesOn) while (session.find(`x:${hash}#${count}`) !== undefined) count += 1;
  seen.set(key, count + 1);
  return { ...item, id: `x:${hash}#${count}` };
}

/** The blobs that a record refers to, if they are what their names say. */
async function readReferences(folder: string, raw: string): Promise<Attached[]> {
  const found: Attached[] = [];
  for (const [, sha256 = ''] of raw.matchAll(/"blob:sha256:([0-9a-f]{64})"/g)) {
    const bytes = await readBeside([folder], sha256);
    if (bytes !== undefined && sha256Hex(bytes) === sha256) found.push({ blob: { sha256, bytes } });
  }
  return found;
}

async function readBeside(
  folders: readonly string[],
  named: string,
): Promise<Uint8Array | undefined> {
  const name = basename(named.replaceAll('\\', '/'));
  if (name === '' || name === '.' || name === '..') return undefined;
  for (const folder of folders) {
    // The folder itself may be a link out of the tree.
    if ((await realpath(folder).catch(() => '')) !== folder) continue;
    const found = await statFile(join(folder, name));
    if (found !== undefined && found.size <= ATTACHED_BYTES_MAX) {
      return await readFile(found.path).catch(() => undefined);
    }
  }
  return undefined;
}
