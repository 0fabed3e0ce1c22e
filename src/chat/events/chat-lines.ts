import { parseBoundedJson } from '../../base/bounded-json.ts';
import { toHash } from '../../base/brand.ts';
import { isQuipuError, notFound, orNothing } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import { decodeUtf8, encodeUtf8 } from '../../base/text.ts';
import type { BlobPut } from '../../engine/batch.ts';
import type { Engine } from '../../engine/engine.ts';
import type { LogDamage } from '../../engine/rows.ts';
import type { ChatProblem } from './event.ts';
import type { Archive } from './documents.ts';
import { eventsLog } from './names.ts';
import { readLine, type ReadLine, type Upcasters } from './read-line.ts';

// The lines of a chat, in its log or elsewhere. A damaged stretch does not hide the lines around it: a problem stands
// in the place of each damaged line.

/** A line, or the reason why it cannot be read. */
export type Line = string | ChatProblem;

/** Returns up to `limit` lines from line `from`; the first is 0. Damaged lines come as problems. */
export type ChatLines = (from: number, limit: number) => Promise<readonly Line[]>;

export function logLines(engine: Engine, id: string): ChatLines {
  const log = eventsLog(id);
  return async (from, limit) => {
    const lines = await orNothing(() => engine.readLog(log, from, limit), 'CORRUPT');
    if (lines !== undefined) return lines;
    const { page = [] } = (await engine.salvageLog(log, from, limit)) ?? {};
    return page.map((line, at) =>
      typeof line === 'string' ? line : unreadable(from + at, placeOf(line)),
    );
  };
}

/** The length of a log by its own account, and the problems of the log as a whole. */
interface LogSize {
  readonly lines: number;
  readonly bytes: number;
  readonly damage: readonly ChatProblem[];
}

/** Returns undefined when there is no log. */
export async function measureLog(engine: Engine, id: string): Promise<LogSize | undefined> {
  const log = eventsLog(id);
  // The result is a row, nothing when there is none, and neither when the row is damaged.
  const found = await orNothing(async () => ({ row: await engine.getLog(log) }), 'CORRUPT');
  if (found !== undefined) return found.row && { ...found.row, damage: [] };
  const salvaged = await engine.salvageLog(log, 0, 0);
  if (salvaged === undefined) return undefined;
  const { lines, bytes } = salvaged;
  return { lines, bytes, damage: salvaged.damage.map((place) => unreadable(-1, placeOf(place))) };
}

function placeOf({ file, offset, what }: LogDamage): string {
  return `${file} is damaged at ${offset}: ${what}`;
}

function unreadable(line: number, message: string): ChatProblem {
  return { seq: line + 1, kind: 'unreadable', message };
}

export function toBlob(text: string): BlobPut {
  const bytes = encodeUtf8(text);
  return { hash: hashBytes(bytes), bytes };
}

export async function mustRead(engine: Engine, hash: string): Promise<string> {
  const bytes = await engine.viewBlob(toHash(hash));
  if (bytes !== undefined) return decodeUtf8(bytes);
  throw notFound('blob', hash, `there is no blob ${hash}`);
}

/** Reads lines from `from` on as events. */
export async function readLines(
  lines: ChatLines,
  upcasters: Upcasters,
  from: number,
  limit: number,
): Promise<ReadLine[]> {
  return (await lines(from, limit)).map((line, at) => {
    const seq = from + at + 1;
    if (typeof line !== 'string') return { seq, problem: line };
    return { ...readLine(line, seq, upcasters), chars: line.length };
  });
}

const PAGE_LINES = 1000;

/** Reads all lines from `from` on as events, a page at a time. */
export async function* readPages(
  lines: ChatLines,
  upcasters: Upcasters,
  from = 0,
): AsyncGenerator<ReadLine[], void, undefined> {
  for (let at = from; ; at += PAGE_LINES) {
    const page = await readLines(lines, upcasters, at, PAGE_LINES);
    yield page;
    if (page.length < PAGE_LINES) return;
  }
}

export interface ArchivePiece {
  readonly hash: string;
  readonly lines: number;
}

/**
 * Opens the lines of an archive. Lines of a lost piece come as problems, and so do all lines when the list of pieces is
 * lost.
 */
export async function openArchive(engine: Engine, archive: Archive): Promise<ChatLines> {
  const list = await orWhy(() => readPieceList(engine, archive.hash));
  const pieces = typeof list === 'string' ? [{ hash: '', lines: archive.lines }] : list;
  return async (from, limit) => {
    const lines: Line[] = [];
    let first = 0;
    for (const { hash, lines: count } of pieces) {
      const start = Math.max(from - first, 0);
      const end = Math.min(from + limit - first, count);
      if (start < end) {
        const found = typeof list === 'string' ? list : await orWhy(() => readPiece(engine, hash));
        if (typeof found !== 'string') lines.push(...found.slice(start, end));
        else for (let at = start; at < end; at += 1) lines.push(unreadable(first + at, found));
      }
      first += count;
    }
    return lines;
  };
}

export async function readPieceList(
  engine: Engine,
  hash: string,
): Promise<readonly ArchivePiece[]> {
  return parsePieceList(await mustRead(engine, hash));
}

export function parsePieceList(text: string): readonly ArchivePiece[] {
  return parseBoundedJson(text) as readonly ArchivePiece[];
}

async function readPiece(engine: Engine, hash: string): Promise<readonly string[]> {
  return (await mustRead(engine, hash)).split('\n');
}

/** Returns the reason when something that was lost cannot be read. */
async function orWhy<T extends object>(read: () => Promise<T>): Promise<T | string> {
  try {
    return await read();
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT') && !isQuipuError(error, 'NOT_FOUND')) throw error;
    return error.message;
  }
}
