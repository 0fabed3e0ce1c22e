// How often words occur in a document, small enough to be kept beside it: two bytes for each word that occurs more than
// once. Ranking reads it for thousands of documents, none of whose texts it could read.
//
// 12 bits of a hash of the token, then 4 bits: how often it occurs, less two, at most 15. The words that occur most
// often are kept where there are too many. Two words with the same hash make a rank slightly wrong and nothing else.

const ENTRIES_MAX = 24;
const COUNT_MAX = 17;

export function makeSketch(tokens: Iterable<string>): Uint8Array {
  const counts = new Map<string, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  const often: [string, number][] = [];
  for (const entry of counts) if (entry[1] > 1) often.push(entry);
  if (often.length > ENTRIES_MAX) {
    often.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    often.length = ENTRIES_MAX;
  }
  const sketch = new Uint8Array(often.length * 2);
  for (const [at, [token, count]] of often.entries()) {
    const entry = (hash12(token) << 4) | (Math.min(count, COUNT_MAX) - 2);
    sketch[at * 2] = entry & 0xff;
    sketch[at * 2 + 1] = entry >> 8;
  }
  return sketch;
}

/** A sketch among others: thousands of them are looked at for one query. */
export interface Sketch {
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

/** How often a token occurs in a document that has it. */
export function countIn({ bytes, from, to }: Sketch, hash: number): number {
  for (let at = from; at < to; at += 2) {
    const entry = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
    if (entry >> 4 === hash) return (entry & 15) + 2;
  }
  return 1;
}

/** FNV-1a over the UTF-16 units, folded to 12 bits. */
export function hash12(token: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < token.length; at += 1) {
    hash = Math.imul(hash ^ token.charCodeAt(at), 0x01000193);
  }
  return (hash ^ (hash >>> 12) ^ (hash >>> 24)) & 0xfff;
}
