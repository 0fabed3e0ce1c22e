import { invalid } from '../../base/errors.ts';
import { hashText } from '../../base/hash.ts';
import type { PagePlace } from '../contract/search-index.ts';

// A cursor names a place in the answer to one query: what was ranked, and where the page ended.

/** Tells the cursors of one query from those of another. */
export function queryMark(parts: readonly unknown[]): string {
  return hashText(JSON.stringify(parts)).slice(0, 12);
}

export function formatCursor(mark: string, { upTo, key, id }: PagePlace): string {
  return Buffer.from(JSON.stringify([mark, upTo, key, id])).toString('base64url');
}

export function parseCursor(mark: string, text: string): PagePlace {
  const place = readPlace(text);
  if (place === undefined)
    throw invalid('cursor', 'is not a cursor of an earlier answer; start again without it');
  if (place[0] !== mark)
    throw invalid('cursor', 'belongs to another query, order or grouping; start again without it');
  const [, upTo, key, id] = place;
  return { upTo, key, id };
}

function readPlace(text: string): [string, number, number, number] | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (!Array.isArray(value) || value.length !== 4 || typeof value[0] !== 'string')
      return undefined;
    const [upTo, key, id] = value.slice(1) as unknown[];
    const isPlace = Number.isSafeInteger(upTo) && Number.isFinite(key) && Number.isSafeInteger(id);
    return isPlace ? (value as [string, number, number, number]) : undefined;
  } catch {
    // SyntaxError: it is none.
    return undefined;
  }
}
