// Text as the index sees it. The same function cuts documents and queries, so they agree by construction; both engines
// store these tokens as they are.
//
// A run is a stretch of letters, digits, marks and `_`. It is cut into parts where an identifier is: at `_`, before a
// capital that follows a small letter or a digit, and before the last capital of several (`HTTPServer`: `http`,
// `server`). A run of several parts is also kept as a whole (`httpserver`), and one that ends in `++` or `#` with that
// ending (`c++`), so that both the parts and the whole are found. Everything else separates: `foo.bar` is two runs.
//
// Chinese, Japanese and Korean have no runs to cut. There each character begins a token of two: `日本語` is `日本`,
// `本語` and `語`. So any stretch of such a text is found, and nothing else of the text pays for it.

/** Parts follow each other, so that phrases can be found; wholes have no order. */
export interface Tokens {
  readonly parts: string[];
  readonly wholes: string[];
  /** If present: for each whole, the number of parts up to its end. */
  readonly wholeEnds?: number[];
}

/** A part, and the place of its run of characters in the text. */
export interface PartSpan {
  readonly part: string;
  readonly start: number;
  readonly end: number;
}

/** Longer tokens are left out. Words, hashes and keys are shorter; encoded bytes are longer. */
export const TOKEN_CHARS_MAX = 128;

const SEPARATOR = 0;
const SMALL = 1;
const CAPITAL = 2;
const DIGIT = 3;
const UNDERSCORE = 4;
const MARK = 5;
const CJK = 6;
const UNKNOWN = 255;

const CLASSES: Uint8Array = new Uint8Array(0x10000).fill(UNKNOWN);

const PATTERNS: readonly (readonly [RegExp, number])[] = [
  [/^_$/u, UNDERSCORE],
  [/^\p{M}$/u, MARK],
  [
    /^(?=[\p{L}\p{N}])[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]$/u,
    CJK,
  ],
  [/^[\p{Lu}\p{Lt}]$/u, CAPITAL],
  [/^\p{L}$/u, SMALL],
  [/^\p{N}$/u, DIGIT],
];

/** The class of the character at `at`. Half a surrogate pair has the class of the whole. */
function classAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  if (isHalf) return classOf(wholeCharacter(text, at));
  const known = CLASSES[unit] ?? UNKNOWN;
  if (known !== UNKNOWN) return known;
  return (CLASSES[unit] = classOf(String.fromCharCode(unit)));
}

function wholeCharacter(text: string, at: number): string {
  const isSecond = text.charCodeAt(at) >= 0xdc00 && at > 0;
  const start = isSecond && (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
  return String.fromCodePoint(text.codePointAt(start) ?? 0);
}

function classOf(character: string): number {
  return PATTERNS.find(([pattern]) => pattern.test(character))?.[1] ?? SEPARATOR;
}

/** Adds the tokens of `text`. With `spans`, also notes where each part was. */
export function tokenize(text: string, into: Tokens, spans?: PartSpan[]): void {
  // Folding all of an ASCII text at once takes half the time of folding each part.
  const sink = { into, spans, folded: isAscii(text) ? text.toLowerCase() : undefined };
  for (let at = 0; at < text.length;) {
    const kind = classAt(text, at);
    if (kind === SEPARATOR || kind === MARK) at += 1;
    else if (kind === CJK) at = cutCjk(text, at, into, spans);
    else at = cutRun(text, at, sink);
  }
}

/** Returns the end of the run that begins at `start`. */
function cutRun(text: string, start: number, sink: PartSink): number {
  const { into } = sink;
  const first = into.parts.length;
  let begin = start;
  let before = SEPARATOR;
  let at = start;
  let dropped = false;
  const cut = (end: number): void => {
    if (end > begin && !addPart(text, begin, end, sink)) dropped = true;
    begin = end;
  };
  for (; at < text.length; at += 1) {
    const kind = classAt(text, at);
    if (kind === SEPARATOR || kind === CJK) break;
    if (kind === MARK) continue;
    if (kind === UNDERSCORE) {
      cut(at);
      begin = at + 1;
    } else if (kind === CAPITAL && (before === SMALL || before === DIGIT)) {
      cut(at);
    } else if (kind === SMALL && before === CAPITAL) {
      cut(lastCapital(text, at));
    }
    before = kind;
  }
  cut(at);
  if (!dropped) addWhole(text, at, { into, first });
  return at;
}

/** The place of the capital before `at`; between them there may be marks. */
function lastCapital(text: string, at: number): number {
  let capital = at - 1;
  while (classAt(text, capital) === MARK) capital -= 1;
  const isSecondHalf = text.charCodeAt(capital) >= 0xdc00 && text.charCodeAt(capital) <= 0xdfff;
  return isSecondHalf ? capital - 1 : capital;
}

interface PartSink {
  readonly into: Tokens;
  readonly spans: PartSpan[] | undefined;
  /** All of the text as `fold` makes it, if each character keeps its place. */
  readonly folded: string | undefined;
}

/** False when the part is too long to be kept. */
function addPart(text: string, start: number, end: number, sink: PartSink): boolean {
  if (end - start > TOKEN_CHARS_MAX) return false;
  const { into, spans, folded } = sink;
  const part = folded === undefined ? fold(text.slice(start, end)) : folded.slice(start, end);
  if (part === '') return true;
  if (part.length > TOKEN_CHARS_MAX) return false;
  into.parts.push(part);
  spans?.push({ part, start, end });
  return true;
}

function addWhole(
  text: string,
  end: number,
  { into, first }: { readonly into: Tokens; readonly first: number },
): void {
  const { parts, wholes, wholeEnds } = into;
  if (parts.length === first) return;
  const whole = parts.length - first === 1 ? (parts[first] ?? '') : parts.slice(first).join('');
  if (whole.length > TOKEN_CHARS_MAX - 2) return;
  const ending = endingAt(text, end);
  if (parts.length - first > 1) wholes.push(whole);
  if (ending !== '') wholes.push(whole + ending);
  while (wholeEnds !== undefined && wholeEnds.length < wholes.length) wholeEnds.push(parts.length);
}

/** `++` or `#` at the end of a run, as in the names of languages. */
export function endingAt(text: string, at: number): string {
  const unit = text.charCodeAt(at);
  const ending =
    unit === 0x23 ? '#' : unit === 0x2b && text.charCodeAt(at + 1) === 0x2b ? '++' : '';
  if (ending === '') return '';
  const next = at + ending.length;
  const isOver = next >= text.length || classAt(text, next) === SEPARATOR;
  return isOver && text[next] !== ending[0] ? ending : '';
}

function cutCjk(text: string, start: number, into: Tokens, spans: PartSpan[] | undefined): number {
  let end = start;
  while (end < text.length && isInCjk(classAt(text, end))) end += 1;
  const run = text.slice(start, end);
  const folded = foldCjk(run);
  const characters = Array.from(folded);
  let at = start;
  for (const [index, character] of characters.entries()) {
    const part = character + (characters[index + 1] ?? '');
    into.parts.push(part);
    // Where folding changed the length, the whole run stands for each of its parts.
    const isSame = folded.length === run.length;
    spans?.push(isSame ? { part, start: at, end: at + part.length } : { part, start, end });
    at += character.length;
  }
  return end;
}

function isInCjk(kind: number): boolean {
  return kind === CJK || kind === MARK;
}

function foldCjk(run: string): string {
  return run.normalize('NFKC').replaceAll(/[^\p{L}\p{N}\p{M}]/gu, '');
}

/** Small letters without diacritics. Letters that are one with their mark in their language, such as й, lose it, too. */
export function fold(run: string): string {
  let folded = '';
  for (let at = 0; at < run.length; at += 1) {
    const unit = run.charCodeAt(at);
    if (unit >= ALONE_END || isCyrillicMark(unit)) return foldAll(run);
    folded += FOLDED[unit] ??= foldAll(String.fromCharCode(unit));
  }
  return folded;
}

/**
 * Latin, Greek, Cyrillic and Armenian letters are folded one by one, as the first of each was: a sixth of the time.
 * Elsewhere a letter can depend on the next.
 */
const FOLDED: string[] = [];
const ALONE_END = 0x0590;

function isCyrillicMark(unit: number): boolean {
  return unit >= 0x0483 && unit <= 0x0489;
}

export function foldAll(run: string): string {
  return run
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\u0300-\u036f]/g, '')
    .replaceAll('ς', 'σ')
    .replaceAll(/[^\p{L}\p{N}\p{M}]/gu, '')
    .normalize('NFC');
}

const VARIES = 1;
/** A control code: in a text it is a separator, so it is free. */
const OTHER_LETTER = 0x7f;
/** What a unit is in a text that `foldInPlace` made. 0: not known yet. */
const IN_PLACE: Uint8Array = new Uint8Array(0x10000);

/**
 * The text with each unit folded in its place: a quick way to look for ASCII words in texts of most languages. A letter
 * that is none of ASCII when it is folded is DEL. Undefined when a letter becomes several, or depends on the next.
 */
export function foldInPlace(text: string): string | undefined {
  if (isAscii(text)) return text.toLowerCase();
  const units = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const isHalf = unit >= 0xd800 && unit <= 0xdfff;
    const folded = isHalf
      ? classAt(text, at) === SEPARATOR
        ? SPACE
        : VARIES
      : (IN_PLACE[unit] ||= unitInPlace(unit));
    if (folded === VARIES) return undefined;
    units[at] = folded;
  }
  return ASCII.decode(units);
}

const SPACE = 0x20;
/** The page runs this in a browser, which has no `Buffer`. */
const ASCII = new TextDecoder();

function unitInPlace(unit: number): number {
  const character = String.fromCharCode(unit);
  const kind = classOf(character);
  if (kind === SEPARATOR) return SPACE;
  if (kind === UNDERSCORE) return unit;
  const folded = kind === CJK ? foldCjk(character) : foldAll(character);
  if (kind === MARK || folded === '') return VARIES;
  const isOther = Array.from(folded).every((one) => one > '\u007f');
  return isOther ? OTHER_LETTER : folded.length === 1 ? folded.charCodeAt(0) : VARIES;
}

/** A third of the time of a loop over the characters. */
export function isAscii(text: string): boolean {
  return ASCII_ONLY.test(text);
}

// eslint-disable-next-line no-control-regex
const ASCII_ONLY = /^[\u0000-\u007F]*$/;

/** True when each part is one or two characters of Chinese, Japanese or Korean. */
export function isCjkPart(part: string): boolean {
  return part !== '' && classAt(part, 0) === CJK;
}
