import { given } from '../../base/given.ts';
import type { IoFile } from '../../engine/io.ts';
import { hydrateEntry, type ReadBlob, type SessionWarning } from '../entries/pictures.ts';
import {
  migrateEntry,
  isHeader,
  type SessionEntry,
  type SessionHeader,
} from '../entries/session-entry.ts';
import { findChanged, type Span, type Sums } from '../files/file-sums.ts';
import { parseLine, readBackward, readEntryLines, type EntryLine } from './session-file.ts';

/** A file that is being read: its header, and the place of its entries. */
export interface OpenLog extends Span {
  readonly file: IoFile;
  readonly header: SessionHeader;
  readonly path: string;
  readonly sums: Sums;
}

interface Reading {
  /** Undefined: references are left as they are. */
  readonly readBlob: ReadBlob | undefined;
}

/** Gathers warnings while entries go by. */
export class ReadNotes {
  readonly warnings: SessionWarning[] = [];
  readonly unresolved: Set<string> = new Set();
  malformedLines = 0;

  view(entries: readonly SessionEntry[], cursor?: number): SessionView {
    const { warnings, malformedLines } = this;
    const unresolved = [...this.unresolved];
    return { entries, unresolved, warnings, malformedLines, ...given({ cursor }) };
  }
}

/** Yields entries in the order of the file. Memory holds one of them. */
export async function* readAllEntries(
  log: OpenLog,
  { readBlob }: Reading,
  notes: ReadNotes,
): AsyncGenerator<LoadedEntry, void, undefined> {
  // The header is read beside the entries, and is checked as they are.
  const changed = await findChanged(log.file, log.sums, { from: 0, to: Infinity });
  for (const span of changed) notes.warnings.push(toWarning(log.path, span));
  for await (const line of linesOf(log, notes)) {
    const span = changed.find(({ from, to }) => from < line.end && line.start < to);
    const odd = span === undefined ? [] : [toWarning(log.path, span)];
    for (const entry of line.entries) {
      const loaded = await load(entry, readBlob, notes);
      yield { ...loaded, warnings: [...odd, ...loaded.warnings] };
    }
  }
}

function toWarning(path: string, { from, to }: Span): SessionWarning {
  const about = `bytes ${from} to ${to} of ${path}`;
  return { message: 'Session lines changed after they were written', about };
}

interface LastReading extends Reading {
  /** Called before each line, with the number of entries taken so far, and the bytes of their lines and pictures. */
  readonly isEnough: (taken: number, bytes: number) => boolean;
  readonly wants?: (entry: SessionEntry) => boolean;
}

/** Returns the last entries that `wants` lets through, oldest first, and the end of the one before them. */
export async function readLastEntries(
  log: OpenLog,
  { readBlob, isEnough, wants }: LastReading,
  notes: ReadNotes,
): Promise<SessionView> {
  // Entries of version 1 are named by their place, which can only be counted from the beginning of the file.
  const isCounted = (log.header.version ?? 1) < 2;
  const lines = isCounted ? await countedLines(log, notes) : linesBackwards(log, notes);
  const taken: SessionEntry[] = [];
  let cursor = log.to;
  let blobBytes = 0;
  const counted =
    readBlob &&
    (async (...args: Parameters<ReadBlob>) => {
      const bytes = await readBlob(...args);
      blobBytes += bytes?.length ?? 0;
      return bytes;
    });
  for await (const { entries, start } of lines) {
    if (isEnough(taken.length, log.to - cursor + blobBytes)) break;
    cursor = start;
    const wanted = wants === undefined ? entries.toReversed() : entries.toReversed().filter(wants);
    for (const entry of wanted) taken.push((await load(entry, counted, notes)).entry);
  }
  for (const span of await findChanged(log.file, log.sums, { from: cursor, to: Infinity })) {
    notes.warnings.push(toWarning(log.path, span));
  }
  return notes.view(taken.toReversed(), cursor > log.from ? cursor : undefined);
}

async function* linesOf(log: OpenLog, notes: ReadNotes): AsyncGenerator<EntryLine> {
  const span = { from: log.from, to: log.to, version: log.header.version ?? 1 };
  for await (const line of readEntryLines(log.file, span)) {
    if (line.malformed) notes.malformedLines++;
    yield line;
  }
}

type EntriesOfLine = Pick<EntryLine, 'entries' | 'start'>;

async function countedLines(log: OpenLog, notes: ReadNotes): Promise<EntriesOfLine[]> {
  const lines: EntriesOfLine[] = [];
  for await (const { entries, start } of linesOf(log, notes)) lines.push({ entries, start });
  return lines.toReversed();
}

async function* linesBackwards(log: OpenLog, notes: ReadNotes): AsyncGenerator<EntriesOfLine> {
  const { version } = log.header;
  for await (const { bytes, start } of readBackward(log.file, log.to, log.from)) {
    const { records, malformed } = parseLine(bytes);
    if (malformed) notes.malformedLines++;
    const written = records.filter((record) => !isHeader(record));
    yield { entries: written.map((record) => migrateEntry(record, { version, index: 0 })), start };
  }
}

async function load(
  entry: SessionEntry,
  readBlob: ReadBlob | undefined,
  notes: ReadNotes,
): Promise<LoadedEntry> {
  if (readBlob === undefined) return { entry, unresolved: [], warnings: [] };
  const warnings: SessionWarning[] = [];
  const loaded = await hydrateEntry(entry, readBlob, (warning) => warnings.push(warning));
  notes.warnings.push(...warnings);
  for (const ref of loaded.unresolved) notes.unresolved.add(ref);
  return { ...loaded, warnings };
}

export interface SessionReadOptions {
  /** Put pictures back where they were; default true. With false, only the session file is read. */
  readonly hydrate?: boolean;
}

export interface SessionLastOptions extends SessionReadOptions {
  /** The cursor of an earlier page: go on towards the beginning. */
  readonly before?: number;
  /** The page ends with the entry that takes its lines and pictures past this size. Default: it does not. */
  readonly maxBytes?: number;
}

export interface LoadedEntry {
  readonly entry: SessionEntry;
  /** References left in the entry because their blob is missing. Do not send them to a model. */
  readonly unresolved: readonly string[];
  /** Problems with the entry: a blob that is missing, a line that differs from what was written. */
  readonly warnings: readonly SessionWarning[];
}

/** Entries in the order of the file, with the problems found in them. */
export interface SessionView {
  readonly entries: readonly SessionEntry[];
  readonly unresolved: readonly string[];
  readonly warnings: readonly SessionWarning[];
  /** Lines, or parts of lines, that could not be read. They are still in the file. */
  readonly malformedLines: number;
  /** Present when there are more entries before these. */
  readonly cursor?: number;
}
