import { fieldToken } from '../query/field-token.ts';
import { makeSketch } from '../rank/sketch.ts';
import { tokenize, type Tokens } from '../text/tokenize.ts';
import type { IndexedText } from '../contract/search-index.ts';

// A long document becomes several rows, so that none is larger than either engine takes, and ranking stays fair to the
// short ones. All words of a query must stand in one piece. Pieces overlap, so that no phrase falls between two.

/** About 25 KB of English. PostgreSQL keeps no positions from 16,384 on. */
export const PIECE_PARTS = 4096;
const OVERLAP_PARTS = 64;

export interface Piece {
  readonly parts: readonly string[];
  readonly wholes: readonly string[];
  readonly sketch: Uint8Array;
}

export function cutPieces(texts: readonly string[]): Piece[] {
  const tokens: Tokens = { parts: [], wholes: [] };
  for (const text of texts) tokenize(text, tokens);
  const { parts, wholes } = tokens;
  if (parts.length <= PIECE_PARTS) return parts.length === 0 ? [] : [toPiece(parts, wholes)];
  const pieces: Piece[] = [];
  const step = PIECE_PARTS - OVERLAP_PARTS;
  const count = Math.ceil((parts.length - OVERLAP_PARTS) / step);
  for (let at = 0; at < count; at += 1) {
    const from = Math.floor((at * wholes.length) / count);
    const to = Math.floor(((at + 1) * wholes.length) / count);
    pieces.push(toPiece(parts.slice(at * step, at * step + PIECE_PARTS), wholes.slice(from, to)));
  }
  return pieces;
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
