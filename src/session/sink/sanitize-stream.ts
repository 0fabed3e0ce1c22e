import { isUtf8 } from 'node:buffer';

// Turns output of programs into text, in three steps. Each step holds back the text that the next piece may change. So
// the result depends on the text alone, and never on where it was cut into pieces.

/** A sequence that is longer, or unfinished after this, is not an escape sequence: only its ESC is removed. */
const ESCAPE_CHARS_MAX = 4096;
/** Pictures are longer than other sequences. */
const SIXEL_CHARS_MAX = 4_194_304;

// Escape sequences are what this file is about.
/* oxlint-disable no-control-regex */
const UNUSUAL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ud800-\udfff]/;
const ANY_SURROGATE = /[\ud800-\udfff]/;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const INTRODUCER = /[\u001b\u0090\u0098\u009b\u009d-\u009f]/g;
const CSI = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/;
const STRING =
  /(?:\u001b[P\]X^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)/;
const SHORT = /\u001b[ -/]*[0-OQ-WYZ\\`-~]/;
const SEQUENCE = new RegExp(`^(?:${CSI.source}|${STRING.source}|${SHORT.source})`);
// The beginnings of the three, up to the end of the text.
const CSI_BEGUN = /(?:\u001b\[|\u009b)[0-?]*[ -/]*$/;
const STRING_BEGUN =
  /(?:\u001b[P\]X^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*\u001b?$/;
const SHORT_BEGUN = /\u001b[ -/]*$/;
const BEGUN = new RegExp(`^(?:${CSI_BEGUN.source}|${STRING_BEGUN.source}|${SHORT_BEGUN.source})`);
const OTHER_ESCAPES = /\u001b[^[]|[\u0090\u0098\u009b\u009d-\u009f]/;
const WHOLE_COLOURS = /\u001b\[[0-?]{0,1000}[ -/]{0,10}[@-~]/g;
const SIXEL = /^(?:\u001bP|\u0090)[0-9;]*q/;

export class SanitizeStream {
  readonly #allowSixel: boolean;
  #heldCr = false;
  #heldEscape = '';
  #heldSurrogate = '';

  constructor(allowSixel = false) {
    this.#allowSixel = allowSixel;
  }

  /** True when nothing is held back: the next text stands by itself. */
  get isIdle(): boolean {
    return !this.#heldCr && this.#heldEscape === '' && this.#heldSurrogate === '';
  }

  push(text: string): string {
    if (this.isIdle && !UNUSUAL.test(text)) return text;
    return this.#clean(this.#dropEscapes(this.#joinLines(text), false), false);
  }

  /** Returns the text held back, now that nothing follows. */
  end(): string {
    const line = this.#heldCr ? '\n' : '';
    this.#heldCr = false;
    return this.#clean(this.#dropEscapes(line, true), true);
  }

  #joinLines(text: string): string {
    if (text === '') return '';
    let joined = this.#heldCr ? `\r${text}` : text;
    this.#heldCr = joined.endsWith('\r');
    if (this.#heldCr) joined = joined.slice(0, -1);
    return joined.includes('\r') ? joined.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : joined;
  }

  /** Returns texts to clean and, at the odd places, sequences that pass as they are. */
  #dropEscapes(added: string, isEnd: boolean): string[] {
    if (this.#heldEscape === '' && !OTHER_ESCAPES.test(added)) {
      // The text has colours, and nothing else that could hold a part of them: if they are whole, all go at once.
      const plain = added.replace(WHOLE_COLOURS, '');
      if (!plain.includes('\u001b')) return [plain];
    }
    const text = this.#heldEscape + added;
    this.#heldEscape = '';
    const parts: string[] = [];
    let kept = '';
    let at = 0;
    for (;;) {
      INTRODUCER.lastIndex = at;
      const begin = INTRODUCER.exec(text)?.index ?? -1;
      if (begin === -1) return [...parts, kept + text.slice(at)];
      kept += text.slice(at, begin);
      const { window, isOver } = this.#windowAt(text, begin);
      const [sequence] = SEQUENCE.exec(window) ?? [];
      if (sequence !== undefined) {
        at = begin + sequence.length;
        if (!this.#allowSixel || !SIXEL.test(sequence)) continue;
        parts.push(kept, sequence);
        kept = '';
      } else if (!isEnd && !isOver && BEGUN.test(window)) {
        this.#heldEscape = text.slice(begin);
        return [...parts, kept];
      } else {
        at = begin + 1;
      }
    }
  }

  #windowAt(text: string, begin: number): { window: string; isOver: boolean } {
    const window = text.slice(begin, begin + ESCAPE_CHARS_MAX);
    if (!this.#allowSixel || !SIXEL.test(window)) {
      return { window, isOver: window.length >= ESCAPE_CHARS_MAX };
    }
    const image = text.slice(begin, begin + SIXEL_CHARS_MAX);
    return { window: image, isOver: image.length >= SIXEL_CHARS_MAX };
  }

  #clean(parts: readonly string[], isEnd: boolean): string {
    const cleaned = parts.map((part, at) => (at % 2 === 1 ? part : part.replaceAll(CONTROLS, '')));
    let whole = this.#heldSurrogate + cleaned.join('');
    const last = whole.charCodeAt(whole.length - 1);
    this.#heldSurrogate = '';
    if (!isEnd && last >= 0xd800 && last <= 0xdbff) {
      this.#heldSurrogate = whole.slice(-1);
      whole = whole.slice(0, -1);
    }
    return ANY_SURROGATE.test(whole) ? whole.replaceAll(/\p{Surrogate}/gu, '') : whole;
  }
}

interface Scan {
  /** True when sanitising would not change the bytes as text. */
  readonly isClean: boolean;
  /** Valid only for clean bytes. */
  readonly lineBreaks: number;
}

const UNCLEAN: Scan = { isClean: false, lineBreaks: 0 };

/**
 * Most output is plain text, and one look at its bytes shows that, sixteen at a time: decoding, matching and encoding
 * it again took twenty times as long. The bytes to find have neither of two bits: control characters, the second byte
 * of those that have two, and little else. Only DEL has both.
 */
export function scanBytes(bytes: Uint8Array): Scan {
  const { buffer, byteOffset, length } = bytes;
  // Words begin at multiples of four.
  const lead = Math.min(length, -byteOffset & 3);
  const words = ((length - lead) >>> 2) & ~3;
  const view = new Int32Array(buffer, words === 0 ? 0 : byteOffset + lead, words);
  const first = lookAt(bytes, 0, lead);
  const last = lookAt(bytes, lead + 4 * words, length);
  if (first === -1 || last === -1 || bytes.includes(DEL) || !isUtf8(bytes)) return UNCLEAN;
  let lineBreaks = first + last;
  for (let at = 0; at < words; at += 4) {
    const a = view[at] ?? 0;
    const b = view[at + 1] ?? 0;
    const c = view[at + 2] ?? 0;
    const d = view[at + 3] ?? 0;
    const ordinary = (a | (a << 1)) & (b | (b << 1)) & (c | (c << 1)) & (d | (d << 1));
    if ((ordinary & BITS) === BITS) continue;
    for (let word = at; word < at + 4; word++) {
      const four = view[word] ?? 0;
      if (((four | (four << 1)) & BITS) === BITS) continue;
      const found = lookAt(bytes, lead + 4 * word, lead + 4 * word + 4);
      if (found === -1) return UNCLEAN;
      lineBreaks += found;
    }
  }
  return { isClean: true, lineBreaks };
}

const DEL = 0x7f;
/** The bit 0x40 in each byte. The bit 0x20 is shifted beside it. */
const BITS = 0x40404040;

/** Counts line breaks among these bytes. Returns -1 when there is something to take out. */
function lookAt(bytes: Uint8Array, from: number, to: number): number {
  let lineBreaks = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if ((byte & 0x60) !== 0) continue;
    if (byte === 0x0a) lineBreaks++;
    else if (byte < 0x80 ? byte !== 0x09 : bytes[at - 1] === 0xc2) return -1;
  }
  return lineBreaks;
}

/** Counts the bytes at the end that begin a character and do not finish it. */
export function unfinishedBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return byte < 0xf8 && length > back ? back : 0;
  }
  return 0;
}
