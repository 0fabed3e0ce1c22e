import { PIECE_PARTS, TOKEN_PLACES, cutPieces } from '../index/cut-pieces.ts';
import { HASH_BEGIN, Sketcher, hashUnit } from '../rank/sketch.ts';
import { TOKEN_CHARS_MAX, endingAt } from '../text/tokenize.ts';

// The rows of a document as FTS5 takes them: tokens separated by spaces. Most documents are short and ASCII, and those
// are cut in one pass, without a string for each token: 9 µs of processor time for a kilobyte, and 17 with `cutPieces`.
// A property test holds both to the same rows.

export interface CutRow {
  readonly part: string;
  readonly whole: string;
  readonly words: number;
  readonly sketch: Uint8Array;
}

export function cutRows(texts: readonly string[]): readonly CutRow[] {
  return (
    cutAscii(texts) ??
    cutPieces(texts).map(({ parts, wholes, sketch }) => ({
      part: parts.join(' '),
      whole: wholes.join(' '),
      words: parts.length,
      sketch,
    }))
  );
}

const CHARS_MAX = 32_768;
const SPACE = 0x20;

const SEPARATOR = 0;
const SMALL = 1;
const CAPITAL = 2;
const DIGIT = 3;
const UNDERSCORE = 4;

const KINDS: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return SMALL;
  if (/[A-Z]/.test(character)) return CAPITAL;
  if (/\d/.test(character)) return DIGIT;
  return character === '_' ? UNDERSCORE : SEPARATOR;
});

/** The parts of one document, one after the other. */
class PartList {
  readonly sketcher: Sketcher = new Sketcher();
  readonly wholes: Set<string> = new Set();
  /** A part takes its characters and a space. */
  readonly #bytes: Buffer = Buffer.alloc(CHARS_MAX * 2);
  #length = 0;
  /** Where the part under way begins. */
  #begin = 0;
  #hash = HASH_BEGIN;
  /** Without the last character. */
  #hashBefore = HASH_BEGIN;
  count = 0;
  isTooLong = false;

  /** Before a document of so many characters. A part has one at least, and one stands between two. */
  begin(chars: number): void {
    this.sketcher.begin(chars + 1);
    this.wholes.clear();
    this.#length = 0;
    this.#begin = 0;
    this.count = 0;
    this.isTooLong = false;
    this.#hash = HASH_BEGIN;
  }

  add(code: number): void {
    this.#bytes[this.#length] = code;
    this.#length += 1;
    this.#hashBefore = this.#hash;
    this.#hash = hashUnit(this.#hash, code);
  }

  /** Adds the small letters of a text from `at` on. Returns where they end. Most characters are in such runs. */
  addLetters(text: string, at: number): number {
    const bytes = this.#bytes;
    let length = this.#length;
    let hash = this.#hash;
    let hashBefore = hash;
    let end = at;
    for (; end < text.length; end += 1) {
      const code = text.charCodeAt(end);
      if (KINDS[code] !== SMALL) break;
      bytes[length] = code;
      length += 1;
      hashBefore = hash;
      hash = hashUnit(hash, code);
    }
    this.#length = length;
    this.#hash = hash;
    this.#hashBefore = hashBefore;
    return end;
  }

  /** Ends the part under way, if it has characters. */
  cut(): void {
    if (this.#length === this.#begin) return;
    if (this.#length - this.#begin > TOKEN_CHARS_MAX) this.isTooLong = true;
    this.sketcher.add(this.#hash);
    this.count += 1;
    this.#bytes[this.#length] = SPACE;
    this.#length += 1;
    this.#begin = this.#length;
    this.#hash = HASH_BEGIN;
  }

  /** Ends the part before the last of its characters, which begins another. */
  cutBeforeLast(): void {
    if (this.#length - this.#begin < 2) return;
    this.#length -= 1;
    const code = this.#bytes[this.#length] ?? 0;
    this.#hash = this.#hashBefore;
    this.cut();
    this.add(code);
  }

  toString(): string {
    return this.#bytes.toString('latin1', 0, Math.max(0, this.#length - 1));
  }
}

const list: PartList = new PartList();

/** Undefined for texts that are not ASCII, or that may need more than one row. */
function cutAscii(texts: readonly string[]): readonly CutRow[] | undefined {
  let chars = 0;
  for (const { length } of texts) chars += length;
  if (chars > CHARS_MAX) return undefined;
  list.begin(chars);
  for (const text of texts) if (!addText(text)) return undefined;
  const { count: words, sketcher, wholes, isTooLong } = list;
  if (words === 0) return [];
  if (isTooLong || words > PIECE_PARTS || sketcher.most() > TOKEN_PLACES) return undefined;
  const part = list.toString();
  return [{ part, whole: [...wholes].join(' '), words, sketch: sketcher.finish() }];
}

/** False when the text is not ASCII. */
function addText(text: string): boolean {
  let before = SEPARATOR;
  let begin = 0;
  let first = list.count;
  for (let at = 0; at < text.length; at += 1) {
    if (before === SMALL) {
      at = list.addLetters(text, at);
      if (at === text.length) break;
    }
    const code = text.charCodeAt(at);
    if (code > 0x7f) return false;
    const kind = KINDS[code] ?? SEPARATOR;
    if (kind === SEPARATOR) {
      if (before === SEPARATOR) continue;
      list.cut();
      addWhole(text, { begin, end: at, first });
    } else {
      if (before === SEPARATOR) {
        begin = at;
        first = list.count;
      }
      addCharacter(code, kind, before);
    }
    before = kind;
  }
  list.cut();
  if (before !== SEPARATOR) addWhole(text, { begin, end: text.length, first });
  return true;
}

function addCharacter(code: number, kind: number, before: number): void {
  if (kind === UNDERSCORE) {
    list.cut();
  } else if (kind === CAPITAL) {
    if (before === SMALL || before === DIGIT) list.cut();
    list.add(code | 0x20);
  } else {
    if (kind === SMALL && before === CAPITAL) list.cutBeforeLast();
    list.add(code);
  }
}

interface Run {
  readonly begin: number;
  readonly end: number;
  /** The number of its first part. */
  readonly first: number;
}

/** As `tokenize` does: several parts have a whole, and so has a run with an ending. */
function addWhole(text: string, { begin, end, first }: Run): void {
  const parts = list.count - first;
  const ending = parts > 0 ? endingAt(text, end) : '';
  if (parts < 2 && ending === '') return;
  const whole = text.slice(begin, end).toLowerCase().replaceAll('_', '');
  if (whole.length > TOKEN_CHARS_MAX - 2) return;
  if (parts > 1) list.wholes.add(whole);
  if (ending !== '') list.wholes.add(whole + ending);
}
