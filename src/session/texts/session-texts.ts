import { join } from 'node:path';
import { eachDoc, eachName } from '../../engine/names.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Io } from '../../engine/io.ts';
import type { TextMarks, TextPage, TextSource, TextDocument } from '../../engine/texts.ts';
import { artifactsFolderOf } from '../files/session-names.ts';
import { readBytes } from '../files/write-file.ts';
import { standingOf } from '../keep/find-session.ts';
import { currentFile, parseRecord, type SessionRecord } from '../records/registry.ts';
import { SESSIONS_PREFIX, sessionDoc } from '../records/session-refs.ts';
import { entriesAround, loadEntry, readEntries } from './entry-texts.ts';
import { agentIdOf, artifactIdOf } from '../artifacts/artifact-ids.ts';
import { Artifacts } from '../artifacts/artifacts.ts';

// The texts of sessions: entries, and the outputs kept beside them. Sessions are files that other programs write, too,
// so no commit tells of a new entry: each reading looks at the files. Those that changed lately are looked at every
// time, and the others every few seconds.

const LATELY_MS = 600_000;
const LOOK_AGAIN_MS = 5000;

/** The disk that sessions of this machine are on. */
export interface SessionPlace {
  readonly engine: Engine;
  readonly io: Io;
  readonly clock: () => number;
  /** The folder of sessions of the store. */
  readonly root: string | undefined;
  readonly host: string;
}

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
    yield* allRecords(place);
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
  const row = await place.engine.getDoc(sessionDoc(id));
  const record = row && parseRecord(row);
  return record !== undefined && isHere(place, record) ? record : undefined;
}

/** A session may be on another machine, and its files are then of that machine. */
function isHere({ host, root }: SessionPlace, record: SessionRecord): boolean {
  return record.host === undefined ? root !== undefined : record.host === host;
}

async function* allRecords(place: SessionPlace): AsyncGenerator<SessionRecord> {
  for await (const row of eachDoc(place.engine, SESSIONS_PREFIX)) {
    const record = parseRecord(row);
    if (isHere(place, record)) yield record;
  }
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
  const bytes = await readBeginning(io, join(folder, name), Math.min(stat.size, READ_BYTES_MAX));
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

async function readBeginning(io: Io, path: string, length: number): Promise<Uint8Array> {
  const opened = await io.open(path, 'read');
  try {
    return await readBytes(opened, length);
  } finally {
    await opened.close();
  }
}
