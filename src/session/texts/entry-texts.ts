import { sha256Hex } from '../../base/hash.ts';
import { isQuipuError, orNothing } from '../../base/errors.ts';
import type { Io, IoFile } from '../../engine/io.ts';
import type { TextChange, TextDocument, TextMarks, TextPage } from '../../engine/texts.ts';
import { isHeader, migrateEntry, type SessionEntry } from '../entries/session-entry.ts';
import type { Line } from '../../base/json-lines.ts';
import { parseLine, readForward } from '../log/read-lines.ts';
import { readHeader, withFile } from '../log/session-file.ts';

// The mark of a session: `<end of the last line read>.<entries read>.<hash of the bytes before that end>`. If those
// bytes are others now, the file was written anew, and everything in it is read again.

const PAGE_BYTES = 2_097_152;
const CHECKED_BYTES = 256;
const ARTIFACTS_MAX = 100_000;

export interface SessionFile {
  readonly thread: string;
  readonly file: string;
}

interface Mark {
  readonly end: number;
  readonly count: number;
  readonly hash: string;
}

/** New entries since the mark. A last line without an end is left for the next time. */
export async function* readEntries(
  io: Io,
  { thread, file }: SessionFile,
  marks: TextMarks,
): AsyncGenerator<TextPage> {
  const text = await marks.get(thread);
  const opened = await openQuietly(io, file);
  if (opened === undefined) return;
  try {
    const size = await opened.size();
    const known = parseMark(text);
    if (known !== undefined && known.end === size && text !== undefined) {
      if ((await hashBefore(opened, size)) === known.hash) return;
    }
    const isSame =
      known !== undefined &&
      known.end <= size &&
      (await hashBefore(opened, known.end)) === known.hash;
    if (known !== undefined && !isSame) {
      // The artifacts of the session leave with it, and are read again, too.
      const beside = (await marks.list(ARTIFACTS_MAX, `${thread}/`)).filter((name) =>
        name.startsWith(`${thread}/`),
      );
      const gone = [thread, ...beside].map((name) => [name, undefined] as const);
      yield { changes: [{ removeThread: thread }], marks: gone, done: 0, total: size };
    }
    yield* readFrom(opened, { thread, file, size }, isSame ? known : undefined);
  } finally {
    await opened.close();
  }
}

async function* readFrom(
  opened: IoFile,
  { thread, file, size }: SessionFile & { readonly size: number },
  known: Mark | undefined,
): AsyncGenerator<TextPage> {
  const { header, end: first } = await readHeader(opened, file);
  let { end, count } = known ?? { end: first, count: 0 };
  let began = end;
  let changes: TextChange[] = [];
  for await (const line of readForward(opened, end, size)) {
    if (!line.terminated) break;
    for (const record of recordsOf(line)) {
      count += 1;
      const entry = migrateEntry(record, { version: header.version, index: count });
      changes.push({ put: toDocument(thread, line.start, count, entry) });
    }
    end = line.end;
    if (end - began < PAGE_BYTES) continue;
    yield await toPage(opened, { thread, changes, end, count, size });
    [began, changes] = [end, []];
  }
  if (end > (known?.end ?? 0)) yield await toPage(opened, { thread, changes, end, count, size });
}

interface PageParts {
  readonly thread: string;
  readonly changes: readonly TextChange[];
  readonly end: number;
  readonly count: number;
  readonly size: number;
}

async function toPage(
  opened: IoFile,
  { thread, changes, end, count, size }: PageParts,
): Promise<TextPage> {
  const mark = `${end}.${count}.${await hashBefore(opened, end)}`;
  return { changes, marks: [[thread, mark]], done: end, total: size };
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

function recordsOf(line: Line): readonly Record<string, unknown>[] {
  return parseLine(line.bytes).records.filter((record) => !isHeader(record));
}

async function openQuietly(io: Io, file: string): Promise<IoFile | undefined> {
  try {
    const opened = await io.open(file, 'read');
    try {
      await readHeader(opened, file);
      return opened;
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

/** The place of the line comes first, so that an entry is found again without reading the file. */
function toDocument(
  thread: string,
  start: number,
  depth: number,
  entry: SessionEntry,
): TextDocument {
  const { id, timestamp, type, parentId: _, ...value } = entry;
  return {
    thread,
    ref: `${start}.${String(id)}`,
    id: String(id),
    depth,
    at: Date.parse(String(timestamp)) || 0,
    type: String(type),
    value,
  };
}

interface EntryRef extends SessionFile {
  readonly ref: string;
}

export async function loadEntry(
  io: Io,
  { thread, file, ref }: EntryRef,
): Promise<TextDocument | undefined> {
  const [, start = '', id] = /^(\d{1,16})\.(.*)$/s.exec(ref) ?? [];
  if (id === undefined) return undefined;
  return orNothing(() =>
    withFile(io, file, 'read', async (opened) => {
      const { header } = await readHeader(opened, file);
      for await (const line of readForward(opened, Number(start), await opened.size())) {
        for (const record of recordsOf(line)) {
          // Entries of version 1 are named by their place, which the reference has.
          const index = Number(/^line-(\d+)$/.exec(id)?.[1] ?? 0);
          const entry = migrateEntry(record, { version: header.version, index });
          if (String(entry.id) === id) return toDocument(thread, Number(start), index, entry);
        }
        return undefined;
      }
      return undefined;
    }),
  );
}

/** Neighbours in the order of the file. */
export async function entriesAround(io: Io, at: EntryRef, count: number): Promise<TextDocument[]> {
  const { thread, file, ref } = at;
  return withFile(io, file, 'read', async (opened) => {
    const { header, end } = await readHeader(opened, file);
    const found: TextDocument[] = [];
    let [index, left] = [0, Infinity];
    for await (const line of readForward(opened, end, await opened.size())) {
      for (const record of recordsOf(line)) {
        index += 1;
        if (left === Infinity && found.length > count) found.shift();
        const entry = migrateEntry(record, { version: header.version, index });
        const document = toDocument(thread, line.start, index, entry);
        found.push(document);
        left = document.ref === ref ? count : left - 1;
        if (left <= 0) return found;
      }
    }
    return left === Infinity ? [] : found;
  });
}
