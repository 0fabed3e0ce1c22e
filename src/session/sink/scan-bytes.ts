import { isUtf8 } from 'node:buffer';

export interface Scan {
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
