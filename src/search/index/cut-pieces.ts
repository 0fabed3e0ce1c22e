import { fieldToken } from '../query/field-token.ts';
import { makeSketch } from '../rank/sketch.ts';
import { tokenize, type Tokens } from '../text/tokenize.ts';
import type { IndexedText } from '../contract/search-index.ts';

// A long document becomes several rows, so that none is larger than either engine takes, and ranking stays fair to the
// short ones. All words of a query must stand in one piece. Pieces overlap, so that no phrase falls between two.

/** About 25 KB of English. PostgreSQL keeps no positions from 16,384 on. */
export const PIECE_PARTS = 4096;
const OVERLAP_PARTS = 64;
/** PostgreSQL keeps no more places of one token. */
export const TOKEN_PLACES = 255;
/** A row of PostgreSQL takes 1 MB of tokens. A unit takes up to three bytes, as a part and once more in a whole. */
const PIECE_UNITS = 131_072;

export interface Piece {
  readonly parts: readonly string[];
  readonly wholes: readonly string[];
  readonly sketch: Uint8Array;
}

export function cutPieces(texts: readonly string[]): Piece[] {
  const wholeEnds: number[] = [];
  const tokens: Tokens = { parts: [], wholes: [], wholeEnds };
  for (const text of texts) tokenize(text, tokens);
  const { parts, wholes } = tokens;
  if (parts.length === 0) return [];
  const pieces: Piece[] = [];
  for (let from = 0, firstWhole = 0; ;) {
    const to = endOfPiece(parts, from);
    if (from === 0 && to === parts.length) return [toPiece(parts, wholes)];
    const own: string[] = [];
    while ((wholeEnds[firstWhole] ?? Infinity) <= from) firstWhole += 1;
    for (let at = firstWhole; (wholeEnds[at] ?? Infinity) <= to; at += 1)
      own.push(wholes[at] ?? '');
    pieces.push(toPiece(parts.slice(from, to), own));
    if (to === parts.length) return pieces;
    from = to - OVERLAP_PARTS;
  }
}

/** A piece always has more parts than pieces share. */
function endOfPiece(parts: readonly string[], from: number): number {
  const most = Math.min(parts.length, from + PIECE_PARTS);
  if (most - from <= TOKEN_PLACES) return most;
  const places = new Map<string, number>();
  let units = 0;
  for (let at = from; at < most; at += 1) {
    const part = parts[at] ?? '';
    const before = places.get(part) ?? 0;
    units += part.length;
    if (before >= TOKEN_PLACES || units > PIECE_UNITS) return at;
    places.set(part, before + 1);
  }
  return most;
}

function toPiece(parts: readonly string[], wholes: readonly string[]): Piece {
  return { parts, wholes: [...new Set(wholes)], sketch: makeSketch(parts) };
}

/** The tokens of the facts about a document. */
export function fieldTokens({ kind, type, role, model, tools }: IndexedText): string[] {
  const tokens = [fieldToken('kind', kind), fieldToken('type', type)];
  if (role !== undefined) tokens.push(fieldToken('role', role));
  if (model !== undefined) tokens.push(fieldToken('model', model));
  return [...new Set([...tokens, ...tools.map((tool) => fieldToken('tool', tool))])];
}
