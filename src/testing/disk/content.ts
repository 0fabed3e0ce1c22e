// The bytes of a file as a table of pages, so that ten thousand crash images of one disk share their common pages.
//
// Invariants
// - A page is written in place only by the content that made it since its last `clone`.
// - Bytes after `length` in the last page are zero; a missing page is all zeros.

const PAGE_BYTES = 1024;

interface Page {
  readonly bytes: Uint8Array;
  readonly owner: number;
  /** 0 while unknown. */
  hash: number;
}

let lastOwner = 0;

/** A buffer of its own for each page would cost more than the page. */
const SLAB_BYTES = 64 * PAGE_BYTES;
let slab = new Uint8Array(SLAB_BYTES);
let slabUsed = 0;

/** A page of zeros. */
function newBytes(): Uint8Array {
  if (slabUsed === SLAB_BYTES) {
    slab = new Uint8Array(SLAB_BYTES);
    slabUsed = 0;
  }
  slabUsed += PAGE_BYTES;
  return slab.subarray(slabUsed - PAGE_BYTES, slabUsed);
}

export class Content {
  #length = 0;
  #pages: (Page | undefined)[] = [];
  #pagesShared = false;
  #owner = ++lastOwner;
  #hash = 0;

  static from(bytes: Uint8Array): Content {
    const content = new Content();
    content.write(bytes, 0);
    return content;
  }

  get length(): number {
    return this.#length;
  }

  /** The cost does not depend on the size: both sides copy a page when they first write to it. */
  clone(): Content {
    const copy = new Content();
    copy.#length = this.#length;
    copy.#pages = this.#pages;
    copy.#hash = this.#hash;
    copy.#pagesShared = true;
    this.#pagesShared = true;
    this.#owner = ++lastOwner;
    return copy;
  }

  read(into: Uint8Array, position: number): number {
    const end = Math.min(position + into.length, this.#length);
    for (let at = position; at < end;) {
      const index = Math.floor(at / PAGE_BYTES);
      const start = at - index * PAGE_BYTES;
      const take = Math.min(PAGE_BYTES - start, end - at);
      const page = this.#pages[index];
      if (page === undefined) into.fill(0, at - position, at - position + take);
      else into.set(page.bytes.subarray(start, start + take), at - position);
      at += take;
    }
    return Math.max(0, end - position);
  }

  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return;
    const end = position + bytes.length;
    if (end > this.#length) this.resize(end);
    this.#hash = 0;
    for (let at = position; at < end;) {
      const index = Math.floor(at / PAGE_BYTES);
      const start = at - index * PAGE_BYTES;
      const take = Math.min(PAGE_BYTES - start, end - at);
      this.#ownPage(index).bytes.set(bytes.subarray(at - position, at - position + take), start);
      at += take;
    }
  }

  /** Cuts the content off, or extends it with zeros. */
  resize(length: number): void {
    if (length === this.#length) return;
    this.#hash = 0;
    const pageCount = Math.ceil(length / PAGE_BYTES);
    if (length < this.#length) {
      this.#ownPages().length = pageCount;
      const rest = length % PAGE_BYTES;
      const last = this.#pages[pageCount - 1];
      if (rest > 0 && last !== undefined) this.#ownPage(pageCount - 1).bytes.fill(0, rest);
    } else {
      const pages = this.#ownPages();
      while (pages.length < pageCount) pages.push(undefined);
    }
    this.#length = length;
  }

  toBytes(): Uint8Array {
    const bytes = new Uint8Array(this.#length);
    this.read(bytes, 0);
    return bytes;
  }

  /** Equal bytes have equal hashes. The hash tells images apart, and is worthless against an adversary. */
  hash(): number {
    if (this.#hash !== 0) return this.#hash;
    let hash = mixHashes(1, this.#length);
    for (const page of this.#pages)
      hash = mixHashes(hash, page === undefined ? ZERO_HASH : hashOf(page));
    this.#hash = hash;
    return hash;
  }

  #ownPages(): (Page | undefined)[] {
    if (this.#pagesShared) {
      this.#pages = this.#pages.slice();
      this.#pagesShared = false;
    }
    return this.#pages;
  }

  #ownPage(index: number): Page {
    const pages = this.#ownPages();
    const page = pages[index];
    if (page?.owner === this.#owner) {
      page.hash = 0;
      return page;
    }
    const bytes = newBytes();
    if (page !== undefined) bytes.set(page.bytes);
    const own = { bytes, owner: this.#owner, hash: 0 };
    pages[index] = own;
    return own;
  }
}

/** Makes 52 bits from two numbers of up to 52 bits; never 0. The order of the two matters. */
export function mixHashes(first: number, second: number): number {
  const lowFirst = first >>> 0;
  const highFirst = Math.floor(first / 2 ** 32);
  const lowSecond = second >>> 0;
  const highSecond = Math.floor(second / 2 ** 32);
  let a = Math.imul(lowFirst ^ 0x9e3779b1, 0x85ebca6b) ^ lowSecond;
  a = Math.imul(a ^ (a >>> 15), 0xc2b2ae35) ^ highSecond;
  a = Math.imul(a ^ (a >>> 13), 0x27d4eb2f) ^ highFirst;
  let b = Math.imul(highFirst ^ 0x165667b1, 0x27d4eb2f) ^ lowSecond;
  b = Math.imul(b ^ (b >>> 16), 0x9e3779b1) ^ lowFirst;
  b = Math.imul(b ^ (b >>> 14), 0x85ebca6b) ^ highSecond;
  return joinHash(a ^ (a >>> 16), b ^ (b >>> 15));
}

// This is not a CRC: a record followed by its own CRC has the same CRC whatever the record says.
function hashOf(page: Page): number {
  if (page.hash !== 0) return page.hash;
  const words = new Uint32Array(page.bytes.buffer, page.bytes.byteOffset, PAGE_BYTES / 4);
  let a = 0x2545f491;
  let b = 0x7f4a7c15;
  for (const word of words) {
    a = Math.imul(a ^ word, 0x9e3779b1);
    a ^= a >>> 15;
    b = Math.imul(b + word, 0x85ebca6b);
    b ^= b >>> 13;
  }
  page.hash = joinHash(a, b);
  return page.hash;
}

function joinHash(a: number, b: number): number {
  return (a >>> 0) * 2 ** 20 + ((b >>> 0) & 0xfffff) + 1;
}

const ZERO_HASH = hashOf({ bytes: new Uint8Array(PAGE_BYTES), owner: 0, hash: 0 });
