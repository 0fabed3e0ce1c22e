import { compileFilter, compileOperand, sqliteDialect, type Filter, type Value } from './filter.ts';

// Splits the patterns of LIKE and GLOB into pieces, as SQLite reads them: for databases that write patterns in another
// way, and for a text that SQLite would take too long for.

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

// Matches a text with a pattern of LIKE or GLOB in time that does not depend on what is in them. The pieces between two
// wildcards for any number of characters are a segment. A segment is looked for with one bit for each of its
// characters, 32 of them at once (the method is called Shift-And): a character of the text takes one step for 32
// characters of the pattern. SQLite takes one for each.

/** The characters of the text between two pauses. Each takes up to 16 steps. */
const PAUSE_CHARS = 65_536;
const ASCII = 128;
const CODE_MAX = 0x10_ff_ff;

type OneCharacter = Exclude<PatternPiece, { readonly kind: 'any' | 'text' }>;
type Codes = readonly (readonly [number, number])[];

/** Whether the pattern matches the whole text. Yields now and then, for a caller that lets others work meanwhile. */
function* matchText(
  whole: string,
  pieces: readonly PatternPiece[],
  isCaseSensitive: boolean,
): Generator<undefined, boolean, undefined> {
  // A text ends at its first NUL character, as for SQLite.
  const end = whole.indexOf('\0');
  const text = end === -1 ? whole : whole.slice(0, end);
  const [first = [], ...others] = segmentsOf(pieces, isCaseSensitive);
  const last = others.pop();
  let at = matchAt(text, 0, first);
  if (at === undefined || last === undefined) return at === text.length;
  for (const segment of others) {
    at = yield* findEnd(text, at, segment);
    if (at === undefined) return false;
  }
  const start = stepBack(text, last.length);
  return start !== undefined && start >= at && matchAt(text, start, last) === text.length;
}

/** The characters that each place of a segment takes. */
type Segment = readonly Codes[];

function segmentsOf(pieces: readonly PatternPiece[], isCaseSensitive: boolean): Segment[] {
  const segments: Codes[][] = [[]];
  for (const piece of pieces) {
    if (piece.kind === 'any') segments.push([]);
    else if (piece.kind !== 'text') segments.at(-1)?.push(codesOf(piece));
    else {
      for (const character of piece.text) {
        segments.at(-1)?.push(literal(character, isCaseSensitive));
      }
    }
  }
  return segments;
}

function literal(character: string, isCaseSensitive: boolean): Codes {
  const isLetter = !isCaseSensitive && /^[A-Za-z]$/.test(character);
  const forms = isLetter ? [character.toLowerCase(), character.toUpperCase()] : [character];
  return forms.map((form) => [codeOf(form), codeOf(form)]);
}

function codesOf(piece: OneCharacter): Codes {
  if (piece.kind === 'one') return [[0, CODE_MAX]];
  const ranges = piece.ranges.map(([from, to]: CharRange) => [codeOf(from), codeOf(to)] as const);
  if (!piece.negated) return ranges;
  const others: (readonly [number, number])[] = [];
  let next = 0;
  for (const [from, to] of ranges
    .filter((range) => range[0] <= range[1])
    .sort((a, b) => a[0] - b[0])) {
    if (from > next) others.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  return next > CODE_MAX ? others : [...others, [next, CODE_MAX]];
}

/** The end of the segment, if it stands at `at`. */
function matchAt(text: string, at: number, segment: Segment): number | undefined {
  let end = at;
  for (const codes of segment) {
    const code = text.codePointAt(end);
    if (code === undefined || !codes.some(([from, to]) => code >= from && code <= to)) {
      return undefined;
    }
    end += widthOf(code);
  }
  return end;
}

/** The end of the first place from `start` on where the segment stands. */
function* findEnd(
  text: string,
  start: number,
  segment: Segment,
): Generator<undefined, number | undefined, undefined> {
  if (segment.length === 0) return start;
  const { words, maskAt, masks } = masksOf(segment);
  const state = new Int32Array(words);
  const lastBit = 1 << ((segment.length - 1) % 32);
  let pauseAt = start + PAUSE_CHARS;
  for (let at = start; at < text.length;) {
    const code = text.codePointAt(at) ?? 0;
    at += widthOf(code);
    let mask = maskAt(code);
    // Every character may be the first of the segment.
    let carry = 1;
    for (let word = 0; word < words; word += 1, mask += 1) {
      const bits = state[word] ?? 0;
      state[word] = ((bits << 1) | carry) & (masks[mask] ?? 0);
      carry = bits >>> 31;
    }
    if (((state[words - 1] ?? 0) & lastBit) !== 0) return at;
    if (at < pauseAt) continue;
    yield;
    pauseAt = at + PAUSE_CHARS;
  }
  return undefined;
}

interface Masks {
  /** The number of words of a mask. */
  readonly words: number;
  /** For each class of characters, a bit for each place of the segment that takes them. */
  readonly masks: Int32Array;
  /** Where the mask of a character begins. */
  readonly maskAt: (code: number) => number;
}

/** Characters between two borders of what the places take are one class: no place tells them apart. */
function masksOf(segment: Segment): Masks {
  const borders = new Set([0]);
  for (const [from, to] of segment.flat()) borders.add(from).add(to + 1);
  const starts = Int32Array.from(borders).sort();
  const words = Math.ceil(segment.length / 32);
  const masks = new Int32Array(starts.length * words);
  for (const [kind, code] of starts.entries()) {
    for (const [place, codes] of segment.entries()) {
      if (!codes.some(([from, to]) => code >= from && code <= to)) continue;
      const word = kind * words + Math.floor(place / 32);
      masks[word] = (masks[word] ?? 0) | (1 << (place % 32));
    }
  }
  const find = (code: number): number => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= code) low = middle;
      else high = middle - 1;
    }
    return low * words;
  };
  const ascii = Int32Array.from({ length: ASCII }, (_, code) => find(code));
  return { words, masks, maskAt: (code) => ascii[code] ?? find(code) };
}

/** The place so many characters before the end. */
function stepBack(text: string, count: number): number | undefined {
  let at = text.length;
  for (let left = count; left > 0; left -= 1) {
    if (at === 0) return undefined;
    at -= at > 1 && (text.codePointAt(at - 2) ?? 0) > 0xff_ff ? 2 : 1;
  }
  return at;
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

function widthOf(code: number): number {
  return code > 0xff_ff ? 2 : 1;
}

// Tests one large event with a filter, one test of the filter after the other, with a pause wherever others may wait.
// SQLite would do all of it in one go: 8 MiB take a second for a pattern of 200 characters.

/** Returns the value of an expression of SQL for the event. */
export type AskEvent = (sql: string, params: readonly Value[]) => unknown;

type Breathe = () => Promise<void>;

/** NULL is neither true nor false, as in SQL. */
type Truth = boolean | null;

/** Whether the event matches the filter. */
export async function testEvent(filter: Filter, ask: AskEvent, breathe: Breathe): Promise<Truth> {
  await breathe();
  switch (filter.kind) {
    case 'and':
      return testAll(filter.terms, false, (term) => testEvent(term, ask, breathe));
    case 'or':
      return testAll(filter.terms, true, (term) => testEvent(term, ask, breathe));
    case 'not':
      return negate(await testEvent(filter.term, ask, breathe));
    case 'like':
    case 'glob':
      return testPattern(filter, ask, breathe);
    case 'between':
    case 'compare':
    case 'in':
    case 'null':
    case 'same': {
      const { sql, params } = compileFilter(filter, sqliteDialect);
      const found = ask(sql, params);
      return found === null ? null : Number(found) !== 0;
    }
  }
}

/** One term that is `decisive` decides. */
async function testAll(
  terms: readonly Filter[],
  decisive: boolean,
  test: (term: Filter) => Promise<Truth>,
): Promise<Truth> {
  let result: Truth = !decisive;
  for (const term of terms) {
    const found = await test(term);
    if (found === decisive) return decisive;
    if (found === null) result = null;
  }
  return result;
}

async function testPattern(
  filter: Filter & { readonly kind: 'like' | 'glob' },
  ask: AskEvent,
  breathe: Breathe,
): Promise<Truth> {
  const { sql, params } = compileOperand(filter.left, sqliteDialect);
  const text = ask(`CAST(${sql} AS TEXT)`, params);
  if (typeof text !== 'string') return null;
  const pieces =
    filter.kind === 'glob' ? readGlob(filter.pattern) : readLike(filter.pattern, filter.escape);
  const steps = matchText(text, pieces ?? [], filter.kind === 'glob');
  let step = steps.next();
  while (step.done !== true) {
    await breathe();
    step = steps.next();
  }
  const isMatch = pieces !== undefined && step.value;
  return isMatch !== filter.negated;
}

function negate(truth: Truth): Truth {
  return truth === null ? null : !truth;
}
