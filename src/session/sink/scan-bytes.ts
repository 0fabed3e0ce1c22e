import { isUtf8 } from 'node:buffer';

/** 1: nothing that a terminal would act on. 2: may begin a control character of two bytes. */
const KINDS: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0xc2) return 2;
  return (byte >= 0x20 || byte === 0x09 || byte === 0x0a) && byte !== 0x7f ? 1 : 0;
});

export interface Scan {
  /** The bytes are text that sanitising would not change. */
  readonly isClean: boolean;
  /** Only for clean ones. */
  readonly lineBreaks: number;
}

const UNCLEAN: Scan = { isClean: false, lineBreaks: 0 };

/**
 * Most output is plain text, and one look at its bytes says so, four at a time: decoding, matching and encoding it
 * again took ten times as long.
 */
export function scanBytes(bytes: Uint8Array): Scan {
  const { buffer, byteOffset, length } = bytes;
  const words = byteOffset % 4 === 0 ? length >>> 2 : 0;
  const view = new Int32Array(buffer, words === 0 ? 0 : byteOffset, words);
  let lineBreaks = 0;
  for (let at = 0; at < words; at++) {
    const word = view[at] ?? 0;
    if (!mayBeUnusual(word)) continue;
    const found = lookAt(bytes, 4 * at, 4 * at + 4);
    if (found === -1) return UNCLEAN;
    lineBreaks += found;
  }
  const rest = lookAt(bytes, 4 * words, length);
  if (rest === -1 || !isUtf8(bytes)) return UNCLEAN;
  return { isClean: true, lineBreaks: lineBreaks + rest };
}

/** True when one of the four bytes is below 0x20, 0x7f or 0xc2; sometimes also when none is. */
function mayBeUnusual(word: number): boolean {
  const del = word ^ 0x7f7f7f7f;
  const lead = word ^ 0xc2c2c2c2;
  const low = (word - 0x20202020) & ~word;
  const isDel = (del - 0x01010101) & ~del;
  const isLead = (lead - 0x01010101) & ~lead;
  return ((low | isDel | isLead) & 0x80808080) !== 0;
}

/** Line breaks among these bytes; -1 when there is something to take out. */
function lookAt(bytes: Uint8Array, from: number, to: number): number {
  let lineBreaks = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    const kind = KINDS[byte];
    if (kind === 0 || (kind === 2 && (bytes[at + 1] ?? 0) < 0xa0)) return -1;
    if (byte === 0x0a) lineBreaks++;
  }
  return lineBreaks;
}

/** Bytes at the end that begin a character and do not finish it. */
export function unfinishedBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return byte < 0xf8 && length > back ? back : 0;
  }
  return 0;
}
