// How often words occur in the documents of a sealed part, by word: one list for each of the 4,096 hashes of a sketch.
// A query reads the lists of its own words. The sketches of 9,000 candidates lay on 7,000 pages of the file.
//
// A list has an entry for each document that has the word more than once, in the order of documents: the distance from
// the place of the entry before (from 0 for the first), times 16, plus the count less two. It is written as a varint:
// seven bits in a byte, the lowest first, and the highest bit set in all bytes but the last.

/** Numbers of lists of one part. */
export const LISTS = 4096;
/** Of an entry, as of one in a sketch: the count less two. */
const COUNT_BITS = 4;
const LOW_BITS = 15;
const COUNT_LEAST = 2;
/** Of an entry in a sketch. */
const ENTRY_BYTES = 2;
/** A varint of 32 bits. */
const VARINT_BYTES_MAX = 5;

/** Lists are sorted so many at a time, for a quarter of the memory. */
const SORTED_LISTS = LISTS / 4;

/** Turns the sketches of documents, which come in their order, into lists. A place is 0 for the first of the part. */
export class CountLists {
  readonly #hashes: Uint16Array;
  readonly #entries: Uint32Array;
  #length = 0;
  readonly #sizes = new Uint32Array(LISTS);

  /** `bytes` of all sketches together. Arrays that grow leave as much again behind. */
  constructor(bytes: number) {
    this.#hashes = new Uint16Array(bytes / ENTRY_BYTES);
    this.#entries = new Uint32Array(bytes / ENTRY_BYTES);
  }

  add(place: number, sketch: Uint8Array): void {
    for (let at = 0; at < sketch.length; at += ENTRY_BYTES) {
      const entry = (sketch[at] ?? 0) | ((sketch[at + 1] ?? 0) << 8);
      const hash = entry >> COUNT_BITS;
      this.#hashes[this.#length] = hash;
      this.#entries[this.#length] = (place << COUNT_BITS) | (entry & LOW_BITS);
      this.#length += 1;
      this.#sizes[hash] = (this.#sizes[hash] ?? 0) + 1;
    }
  }

  /** The lists that have entries, by the number of their hash. */
  *lists(): Generator<readonly [hash: number, list: Uint8Array]> {
    for (let first = 0; first < LISTS; first += SORTED_LISTS) {
      const ends = new Uint32Array(SORTED_LISTS);
      const sorted = this.#sort(first, ends);
      for (let nth = 0, from = 0; nth < SORTED_LISTS; nth += 1) {
        const to = ends[nth] ?? 0;
        if (to > from) yield [first + nth, encode(sorted.subarray(from, to))];
        from = to;
      }
    }
  }

  /** The entries of `ends.length` lists, one list after the other. Sets where each ends. */
  #sort(first: number, ends: Uint32Array): Uint32Array {
    let total = 0;
    for (let nth = 0; nth < ends.length; nth += 1) {
      ends[nth] = total;
      total += this.#sizes[first + nth] ?? 0;
    }
    const sorted = new Uint32Array(total);
    for (let at = 0; at < this.#length; at += 1) {
      const nth = (this.#hashes[at] ?? 0) - first;
      if (nth < 0 || nth >= ends.length) continue;
      const end = ends[nth] ?? 0;
      sorted[end] = this.#entries[at] ?? 0;
      ends[nth] = end + 1;
    }
    return sorted;
  }
}

/** The counts that a list has of documents whose places rise. 1: the list does not have the document. */
export function countsAt(list: Uint8Array, places: Uint32Array): Uint8Array {
  const counts = new Uint8Array(places.length).fill(1);
  let nth = 0;
  eachEntry(list, (place, low) => {
    while (nth < places.length && (places[nth] ?? 0) < place) nth += 1;
    if (places[nth] !== place) return;
    // Of two words with one hash, the first one counts, as it does in a sketch.
    counts[nth] = low + COUNT_LEAST;
    nth += 1;
  });
  return counts;
}

/** The list without documents that are gone. Undefined: it has none of them. */
export function withoutGone(
  list: Uint8Array,
  isGone: (place: number) => boolean,
): Uint8Array | undefined {
  const kept: number[] = [];
  let isWhole = true;
  eachEntry(list, (place, low) => {
    if (isGone(place)) isWhole = false;
    else kept.push((place << COUNT_BITS) | low);
  });
  return isWhole ? undefined : encode(kept);
}

function eachEntry(list: Uint8Array, visit: (place: number, low: number) => void): void {
  let place = 0;
  for (let at = 0; at < list.length;) {
    let entry = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = list[at] ?? 0;
      at += 1;
      entry |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    place += entry >>> COUNT_BITS;
    visit(place, entry & LOW_BITS);
  }
}

/** Entries hold their place, and not yet the distance. */
function encode(entries: ArrayLike<number>): Uint8Array {
  // A part has a million entries: a list of numbers for their bytes took most of the time of sealing it.
  const bytes = new Uint8Array(entries.length * VARINT_BYTES_MAX);
  let length = 0;
  let before = 0;
  for (let at = 0; at < entries.length; at += 1) {
    const entry = entries[at] ?? 0;
    const place = entry >>> COUNT_BITS;
    let rest = ((place - before) << COUNT_BITS) | (entry & LOW_BITS);
    before = place;
    for (; rest > 0x7f; rest >>>= 7) {
      bytes[length] = (rest & 0x7f) | 0x80;
      length += 1;
    }
    bytes[length] = rest;
    length += 1;
  }
  return bytes.slice(0, length);
}
