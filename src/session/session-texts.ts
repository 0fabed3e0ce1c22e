import { isQuipuError, orNothing } from '../base/errors.ts';
import { sha256Hex } from '../base/hash.ts';
import { join } from 'node:path';
import { eachName } from '../engine/names.ts';
import type { Io, IoFile } from '../engine/io.ts';
import type { TextChange, TextDocument, TextMarks, TextPage, TextSource } from '../engine/texts.ts';
import { artifactsFolderOf } from './files/session-names.ts';
import { readBytes, withOpen } from './files/write-file.ts';
import { standingOf } from './keep/find-session.ts';
import {
  Registry,
  currentFile,
  type SessionRecord,
  type SessionsHome,
} from './records/registry.ts';
import { SESSIONS_PREFIX } from './records/session-refs.ts';
import {
  readEntryLines,
  readHeader,
  withFile,
  type EntryLine,
  type HeaderOfFile,
} from './log/session-file.ts';
import { agentIdOf, artifactIdOf, Artifacts } from './artifacts/artifacts.ts';

// The texts of sessions: entries, and the outputs kept beside them. Sessions are files that other programs write, too,
// so no commit tells of a new entry: each reading looks at the files. Those that changed lately are looked at every
// time, and the others every few seconds.

const LATELY_MS = 600_000;
const LOOK_AGAIN_MS = 5000;

/** The store and the disk of the sessions of this machine. */
type SessionPlace = Pick<SessionsHome, 'engine' | 'io' | 'clock' | 'root'> & {
  readonly host: string;
};

export function sessionTexts(place: SessionPlace): TextSource {
  const { io, clock } = place;
  /** Sessions that were looked at, and when their files changed. */
  const lately = new Map<string, number>();
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function* records(): AsyncGenerator<SessionRecord> {
    if (clock() - lookedAt < LOOK_AGAIN_MS) {
      for (const [id, changedMs] of lately) {
        const record = clock() - changedMs < LATELY_MS ? await findRecord(place, id) : undefined;
        if (record !== undefined) yield record;
      }
      return;
    }
    lookedAt = clock();
    lately.clear();
    for await (const record of new Registry(place.engine).all()) {
      if (isHere(place, record)) yield record;
    }
  }

  async function fileOf(id: string): Promise<string | undefined> {
    const record = await findRecord(place, id);
    if (record === undefined || (await standingOf(place, record)) !== 'own') return undefined;
    return currentFile(io, record);
  }

  return {
    kind: 'session',
    hear({ docs, removedDocs }) {
      const isOurs = (name: string): boolean => name.startsWith(SESSIONS_PREFIX);
      if (docs.some(({ name }) => isOurs(name)) || removedDocs.some(isOurs))
        lookedAt = Number.NEGATIVE_INFINITY;
    },
    miss() {
      lookedAt = Number.NEGATIVE_INFINITY;
    },

    async *read(marks) {
      const isFull = clock() - lookedAt >= LOOK_AGAIN_MS;
      const seen = new Set<string>();
      for await (const record of records()) {
        seen.add(record.id);
        const file = await currentFile(io, record);
        const stat = await io.stat(file);
        lately.set(record.id, stat?.changedMs ?? 0);
        if (stat?.kind === 'file') yield* readSession(place, { record, file }, marks);
      }
      if (isFull) yield* forgetOthers(marks, seen);
    },

    load: (documents) =>
      Promise.all(
        documents.map(async ({ thread, ref }) => {
          const file = await fileOf(thread);
          if (file === undefined) return undefined;
          if (!ref.startsWith(ARTIFACT)) return loadEntry(io, { thread, file, ref });
          const folder = artifactsFolderOf(file);
          if (folder === undefined) return undefined;
          return loadArtifact(io, { thread, folder, name: ref.slice(ARTIFACT.length) });
        }),
      ),

    async around(thread, ref, count) {
      const file = await fileOf(thread);
      if (file === undefined || ref.startsWith(ARTIFACT)) return [];
      return entriesAround(io, { thread, file, ref }, count);
    },

    gone: () => Promise.resolve([]),
    shows: (thread, document) => Promise.resolve(thread === document.thread),
  };
}

async function findRecord(place: SessionPlace, id: string): Promise<SessionRecord | undefined> {
  const record = await new Registry(place.engine).get(id);
  return record !== undefined && isHere(place, record) ? record : undefined;
}

/** A session may be on another machine, and its files are then of that machine. */
function isHere({ host, root }: SessionPlace, record: SessionRecord): boolean {
  return record.host === undefined ? root !== undefined : record.host === host;
}

async function* readSession(
  place: SessionPlace,
  { record, file }: { readonly record: SessionRecord; readonly file: string },
  marks: TextMarks,
): AsyncGenerator<TextPage> {
  // Only a session whose file is its own may be shown.
  if ((await standingOf(place, record)) !== 'own') return;
  const { io } = place;
  yield* readEntries(io, { thread: record.id, file }, marks);
  const folder = artifactsFolderOf(file);
  if (folder !== undefined) yield* readArtifacts(io, { thread: record.id, folder }, marks);
}

/** Sessions that are in the index and not in the list any more. */
async function* forgetOthers(
  marks: TextMarks,
  seen: ReadonlySet<string>,
): AsyncGenerator<TextPage> {
  for await (const name of eachName((limit, after) => marks.list(limit, after))) {
    const [id = ''] = name.split('/');
    if (seen.has(id)) continue;
    yield { changes: [{ removeThread: name }], marks: [[name, undefined]], done: 0, total: 0 };
  }
}

// The texts of entries. The mark of a session is `<end of the last line read>.<entries read>.<hash of the bytes before
// that end>`. If those bytes are others now, the file was written anew, and everything in it is read again.

const PAGE_BYTES = 2_097_152;
const CHECKED_BYTES = 256;
const ARTIFACTS_MAX = 100_000;

interface SessionFile {
  readonly thread: string;
  readonly file: string;
}

interface Mark {
  readonly end: number;
  readonly count: number;
  readonly hash: string;
}

/** New entries since the mark. A last line without an end is left for the next time. */
async function* readEntries(
  io: Io,
  { thread, file }: SessionFile,
  marks: TextMarks,
): AsyncGenerator<TextPage> {
  let known = parseMark(await marks.get(thread));
  const found = await openQuietly(io, file);
  if (found === undefined) return;
  const { opened, header } = found;
  try {
    const size = await opened.size();
    const isSame =
      known !== undefined &&
      known.end <= size &&
      (await hashBefore(opened, known.end)) === known.hash;
    if (isSame && known?.end === size) return;
    if (known !== undefined && !isSame) {
      // The artifacts of the session leave with it, and are read again, too.
      const beside = (await marks.list(ARTIFACTS_MAX, `${thread}/`)).filter((name) =>
        name.startsWith(`${thread}/`),
      );
      const gone = [thread, ...beside].map((name) => [name, undefined] as const);
      yield { changes: [{ removeThread: thread }], marks: gone, done: 0, total: size };
      known = undefined;
    }
    let { end, count } = known ?? { end: found.end, count: 0 };
    let began = end;
    let changes: TextChange[] = [];
    const toPage = async (): Promise<TextPage> => {
      const mark = `${end}.${count}.${await hashBefore(opened, end)}`;
      return { changes, marks: [[thread, mark]], done: end, total: size };
    };
    const span = { from: end, to: size, count, version: header.version ?? 1 };
    for await (const line of readEntryLines(opened, span)) {
      if (!line.terminated) break;
      changes.push(...documentsOf(thread, line).map((put) => ({ put })));
      ({ end, count } = line);
      if (end - began < PAGE_BYTES) continue;
      yield await toPage();
      [began, changes] = [end, []];
    }
    if (end > (known?.end ?? 0)) yield await toPage();
  } finally {
    await opened.close();
  }
}

function parseMark(text: string | undefined): Mark | undefined {
  const [, end, count, hash] = /^(\d{1,16})\.(\d{1,16})\.([0-9a-f]{16})$/.exec(text ?? '') ?? [];
  return hash === undefined ? undefined : { end: Number(end), count: Number(count), hash };
}

async function hashBefore(opened: IoFile, end: number): Promise<string> {
  const bytes = Buffer.alloc(Math.min(CHECKED_BYTES, end));
  const got = await opened.read(bytes, end - bytes.length);
  return sha256Hex(bytes.subarray(0, got)).slice(0, 16);
}

async function openQuietly(
  io: Io,
  file: string,
): Promise<(HeaderOfFile & { readonly opened: IoFile }) | undefined> {
  try {
    const opened = await io.open(file, 'read');
    try {
      return { opened, ...(await readHeader(opened, file)) };
    } catch (error) {
      await opened.close();
      throw error;
    }
  } catch (error) {
    // A session that cannot be opened has no text to find. Whoever opens it is told why.
    if (isQuipuError(error) || (error instanceof Error && 'code' in error)) return undefined;
    throw error;
  }
}

/** The place of the line comes first in `ref`, so that an entry is found again without reading the file. */
function documentsOf(thread: string, { start, entries, count }: EntryLine): TextDocument[] {
  return entries.map((entry, at) => {
    const { id, timestamp, type, parentId: _, ...value } = entry;
    return {
      thread,
      ref: `${start}.${String(id)}`,
      id: String(id),
      depth: count - entries.length + at + 1,
      at: Date.parse(String(timestamp)) || 0,
      type: String(type),
      value,
    };
  });
}

interface EntryRef extends SessionFile {
  readonly ref: string;
}

async function loadEntry(
  io: Io,
  { thread, file, ref }: EntryRef,
): Promise<TextDocument | undefined> {
  const [, start = '', id] = /^(\d{1,16})\.(.*)$/s.exec(ref) ?? [];
  if (id === undefined) return undefined;
  return orNothing(() =>
    withFile(io, file, async (opened) => {
      const { header } = await readHeader(opened, file);
      // Entries of version 1 are named by their place, which the reference has.
      const count = Number(/^line-(\d+)$/.exec(id)?.[1] ?? 0) - 1;
      const span = { from: Number(start), to: await opened.size(), count };
      const version = header.version ?? 1;
      for await (const line of readEntryLines(opened, { ...span, version })) {
        return documentsOf(thread, line).find((document) => document.id === id);
      }
      return undefined;
    }),
  );
}

/** Neighbours in the order of the file. */
async function entriesAround(io: Io, at: EntryRef, count: number): Promise<TextDocument[]> {
  const { thread, file, ref } = at;
  return withFile(io, file, async (opened) => {
    const { header, end } = await readHeader(opened, file);
    const found: TextDocument[] = [];
    let left = Infinity;
    const span = { from: end, to: await opened.size(), version: header.version ?? 1 };
    for await (const line of readEntryLines(opened, span)) {
      for (const document of documentsOf(thread, line)) {
        if (left === Infinity && found.length > count) found.shift();
        found.push(document);
        left = document.ref === ref ? count : left - 1;
        if (left <= 0) return found;
      }
    }
    return left === Infinity ? [] : found;
  });
}

// The texts of artifacts. An artifact is written once; its mark is its size and the time of its last change.

/** Stands before the name of the file in the reference to an artifact. */
const ARTIFACT = 'artifact:';
const READ_BYTES_MAX = 4_194_304;
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

interface ArtifactFolder {
  readonly thread: string;
  readonly folder: string;
}

async function* readArtifacts(
  io: Io,
  { thread, folder }: ArtifactFolder,
  marks: TextMarks,
): AsyncGenerator<TextPage> {
  for (const name of await new Artifacts(io, folder).listFiles()) {
    const stat = await io.stat(join(folder, name));
    if (stat?.kind !== 'file' || name.endsWith('.jsonl') || name.endsWith('.jsonl.torn')) continue;
    const mark = `${stat.size}.${Math.floor(stat.changedMs ?? 0)}`;
    const of = `${thread}/${name}`;
    if ((await marks.get(of)) === mark) continue;
    const document = await loadArtifact(io, { thread, folder, name });
    const changes = document === undefined ? [] : [{ put: document }];
    yield { changes, marks: [[of, mark]], done: 0, total: 0 };
  }
}

/** Undefined for a file that is gone or is no text. */
async function loadArtifact(
  io: Io,
  { thread, folder, name }: ArtifactFolder & { readonly name: string },
): Promise<TextDocument | undefined> {
  if (name.startsWith('.') || /[/\\]/.test(name)) return undefined;
  const stat = await io.stat(join(folder, name));
  if (stat?.kind !== 'file') return undefined;
  const length = Math.min(stat.size, READ_BYTES_MAX);
  const path = join(folder, name);
  const bytes = await withOpen(io, path, 'read', (file) => readBytes(file, length));
  if (bytes.includes(0)) return undefined;
  const id = artifactIdOf(name) ?? agentIdOf(name) ?? name;
  const [, tool] = /^\d+\.(.+)\.log$/.exec(name) ?? [];
  return {
    thread,
    ref: `${ARTIFACT}${name}`,
    id,
    kind: 'artifact',
    depth: Number(artifactIdOf(name) ?? 0),
    at: Math.floor(stat.changedMs ?? 0),
    type: tool ?? 'output',
    value:
      tool === undefined
        ? lenient.decode(bytes)
        : { toolName: tool, output: lenient.decode(bytes) },
  };
}
