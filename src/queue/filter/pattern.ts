// Splits the patterns of LIKE and GLOB into pieces, as SQLite reads them. This is for databases that write patterns in
// another way.

export type PatternPiece =
  | { readonly kind: 'text'; readonly text: string }
  /** Any one character. */
  | { readonly kind: 'one' }
  /** Any number of characters. */
  | { readonly kind: 'any' }
  /** One character that is in one of the ranges, or, if negated, in none of them. */
  | { readonly kind: 'set'; readonly negated: boolean; readonly ranges: readonly CharRange[] };

/** The first and the last character of the range. */
export type CharRange = readonly [string, string];

/** Returns undefined for a pattern that matches nothing, because it ends with its escape character. */
export function readLike(pattern: string, escape?: string): PatternPiece[] | undefined {
  const pieces: PatternPiece[] = [];
  const characters = Array.from(pattern);
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? '';
    if (character === escape) {
      at += 1;
      const escaped = characters[at];
      if (escaped === undefined) return undefined;
      addText(pieces, escaped);
    } else if (character === '%') pieces.push({ kind: 'any' });
    else if (character === '_') pieces.push({ kind: 'one' });
    else addText(pieces, character);
  }
  return pieces;
}

/** Returns undefined for a pattern that matches nothing, because a set is never closed. */
export function readGlob(pattern: string): PatternPiece[] | undefined {
  const pieces: PatternPiece[] = [];
  const characters = Array.from(pattern);
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? '';
    if (character === '*') pieces.push({ kind: 'any' });
    else if (character === '?') pieces.push({ kind: 'one' });
    else if (character !== '[') addText(pieces, character);
    else {
      const set = readSet(characters, at + 1);
      if (set === undefined) return undefined;
      pieces.push(set.piece);
      at = set.end;
    }
  }
  return pieces;
}

/** `from`: the position after the opening bracket. `end`: the position of the closing bracket. */
function readSet(
  characters: readonly string[],
  from: number,
): { piece: PatternPiece; end: number } | undefined {
  const ranges: CharRange[] = [];
  let at = from;
  const negated = characters[at] === '^';
  if (negated) at += 1;
  // In this place the bracket does not close the set yet.
  if (characters[at] === ']') {
    ranges.push([']', ']']);
    at += 1;
  }
  let before: string | undefined;
  for (; ; at += 1) {
    const character = characters[at];
    if (character === undefined) return undefined;
    if (character === ']') return { piece: { kind: 'set', negated, ranges }, end: at };
    const next = characters[at + 1];
    if (character === '-' && before !== undefined && next !== undefined && next !== ']') {
      ranges.push([before, next]);
      before = undefined;
      at += 1;
    } else {
      ranges.push([character, character]);
      before = character;
    }
  }
}

function addText(pieces: PatternPiece[], text: string): void {
  const last = pieces.at(-1);
  if (last?.kind === 'text') pieces[pieces.length - 1] = { kind: 'text', text: last.text + text };
  else pieces.push({ kind: 'text', text });
}
