import { toHash } from '../base/brand.ts';
import { QuipuError, isQuipuError } from '../base/errors.ts';
import { decodeUtf8 } from '../base/utf8.ts';
import type { Engine } from '../engine/engine.ts';
import type { ChatProblem } from './event.ts';
import type { Archive } from './meta.ts';
import { eventsLog } from './names.ts';
import { readLine } from './read-line.ts';
import type { ReadLine } from './read-line.ts';
import type { Upcasters } from './upcast.ts';

// The lines of a chat, from its log or from the archive it was moved to. A damaged stretch does not
// hide what is around it: it is read in halves until only the damage is left out.

/** A line, or why it cannot be had. */
export type Line = string | ChatProblem;

export interface ArchivePiece {
  readonly hash: string;
  readonly lines: number;
}

export interface ChatLines {
  /** Up to `limit` lines from line `from`, the first is 0. Damaged ones come as problems. */
  read(from: number, limit: number): Promise<readonly Line[]>;
}

export function logLines(engine: Engine, id: string): ChatLines {
  return { read: (from, limit) => readAround(engine, eventsLog(id), from, limit) };
}

async function readAround(
  engine: Engine,
  log: string,
  from: number,
  limit: number,
): Promise<readonly Line[]> {
  try {
    return await engine.readLog(log, from, limit);
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT')) throw error;
    if (limit > 1) {
      const half = Math.ceil(limit / 2);
      const first = await readAround(engine, log, from, half);
      return [...first, ...(await readAround(engine, log, from + half, limit - half))];
    }
    const { file, offset } = error.data;
    return [unreadable(from, `${file} is damaged at ${offset}: ${error.message}`)];
  }
}

export async function openArchive(engine: Engine, archive: Archive): Promise<ChatLines> {
  const pieces = JSON.parse(await mustRead(engine, archive.hash)) as readonly ArchivePiece[];
  return {
    async read(from: number, limit: number): Promise<readonly Line[]> {
      const lines: Line[] = [];
      let first = 0;
      for (const { hash, lines: count } of pieces) {
        const start = Math.max(from - first, 0);
        const end = Math.min(from + limit - first, count);
        if (start < end) lines.push(...(await readPiece(engine, hash, { first, start, end })));
        first += count;
      }
      return lines;
    },
  };
}

async function readPiece(
  engine: Engine,
  hash: string,
  { first, start, end }: { first: number; start: number; end: number },
): Promise<readonly Line[]> {
  try {
    return (await mustRead(engine, hash)).split('\n').slice(start, end);
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT') && !isQuipuError(error, 'NOT_FOUND')) throw error;
    const { message } = error;
    return Array.from({ length: end - start }, (_, at) => unreadable(first + start + at, message));
  }
}

function unreadable(line: number, message: string): ChatProblem {
  return { seq: line + 1, kind: 'unreadable', message };
}

export async function mustRead(engine: Engine, hash: string): Promise<string> {
  const bytes = await engine.viewBlob(toHash(hash));
  if (bytes !== undefined) return decodeUtf8(bytes);
  throw new QuipuError('NOT_FOUND', `there is no blob ${hash}`, { what: 'blob', id: hash });
}

/** Lines `from` and on, read as events. */
export async function readLines(
  lines: ChatLines,
  upcasters: Upcasters,
  from: number,
  limit: number,
): Promise<ReadLine[]> {
  return (await lines.read(from, limit)).map((line, at) => {
    const seq = from + at + 1;
    return typeof line === 'string' ? readLine(line, seq, upcasters) : { seq, problem: line };
  });
}
