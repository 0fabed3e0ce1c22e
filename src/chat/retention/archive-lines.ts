import { parseBoundedJson } from '../../base/bounded-json.ts';
import { isQuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import { mustRead, unreadable } from '../events/chat-lines.ts';
import type { ChatLines, Line } from '../events/chat-lines.ts';
import type { Archive } from '../meta.ts';

export interface ArchivePiece {
  readonly hash: string;
  readonly lines: number;
}

/** The reason why something cannot be read. */
interface Lost {
  readonly why: string;
}

/**
 * Opens the lines of an archive. Lines of a lost piece come as problems, and so do all lines when the list of pieces is
 * lost.
 */
export async function openArchive(engine: Engine, archive: Archive): Promise<ChatLines> {
  const list = await orLost(() => readPieceList(engine, archive.hash));
  const pieces = 'why' in list ? [{ hash: '', lines: archive.lines }] : list;
  return {
    async read(from: number, limit: number): Promise<readonly Line[]> {
      const lines: Line[] = [];
      let first = 0;
      for (const { hash, lines: count } of pieces) {
        const start = Math.max(from - first, 0);
        const end = Math.min(from + limit - first, count);
        if (start < end) {
          const found = 'why' in list ? list : await orLost(() => readPiece(engine, hash));
          lines.push(...select(found, first, { start, end }));
        }
        first += count;
      }
      return lines;
    },
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

function select(
  found: readonly string[] | Lost,
  first: number,
  { start, end }: { readonly start: number; readonly end: number },
): readonly Line[] {
  if (!('why' in found)) return found.slice(start, end);
  return Array.from({ length: end - start }, (_, at) => unreadable(first + start + at, found.why));
}

async function orLost<T extends object>(read: () => Promise<T>): Promise<T | Lost> {
  try {
    return await read();
  } catch (error) {
    if (!isQuipuError(error, 'CORRUPT') && !isQuipuError(error, 'NOT_FOUND')) throw error;
    return { why: error.message };
  }
}
