import type { Hash } from '../../../base/brand.ts';
import { orNothing } from '../../../base/errors.ts';
import { createSha256 } from '../../../base/hash.ts';
import type { BlobPlace } from '../index/shelf.ts';
import {
  type BadRange,
  checkPack,
  findNamedPacks,
  noteUnreadable,
  PlaceSum,
} from './check-pack.ts';
import { ALIAS_RECORDS, packFile } from './pack-file.ts';
import { walkPack } from './walk-pack.ts';
import { type Check, type Found, lost, staleIndex } from '../truth/check.ts';
import {
  type AliasRecord,
  BLOB_HEADER_BYTES,
  BLOB_OVERHEAD_BYTES,
  BlobCodec,
  type Chunk,
  decodeBlobHeader,
  decodeBlobRecord,
  decodeChunkList,
} from '../../../format/blob-record.ts';

const PLACES_STEP = 1024;

const STEP = 64;

/** Checks every pack, whether the index has exactly the places that the packs have, and then all chunk lists. */
export async function checkPacks(check: Check): Promise<void> {
  const lists = await checkPlaces(check);
  await checkChunkLists(check, lists);
}

/** Returns the places of chunk lists, which can be checked once all chunks have been. */
async function checkPlaces(check: Check): Promise<readonly ListPlace[]> {
  const { findings, snapshot } = check;
  const lists: ListPlace[] = [];
  const indexed = await sumIndex(check, lists);
  const packs = await findNamedPacks(check, (pack) => indexed.has(pack));
  const suspects = new Map<number, Suspect>();
  let blobBytes = 0;
  let storedBytes = 0;
  for (const pack of packs) {
    const result = await checkPack(check, pack);
    blobBytes += result.blobBytes;
    storedBytes += result.storedBytes;
    const known = indexed.get(pack.number) ?? new PlaceSum();
    indexed.delete(pack.number);
    if (!known.isSame(result.sum) || result.bad.length > 0) {
      suspects.set(pack.number, { length: pack.length, bad: result.bad });
    }
  }
  for (const number of missingPacks(check, packs, indexed)) addMissing(check, number);
  if (suspects.size > 0) {
    await comparePlaces(check, suspects);
    return lists;
  }
  const { totals } = snapshot;
  const { blobs } = findings.counts;
  const right =
    totals.blobs === blobs && totals.blobBytes === blobBytes && totals.storedBytes === storedBytes;
  if (!right && indexed.size === 0) {
    findings.add(staleIndex('the index counts blobs, or their bytes, wrongly'));
  }
  return lists;
}

async function sumIndex(check: Check, lists: ListPlace[]): Promise<Map<number, PlaceSum>> {
  const sums = new Map<number, PlaceSum>();
  const known = new KnownBlobs(check.snapshot.totals.blobs);
  await eachPlace(check, (place) => {
    const { pack, offset, storedLength, codec } = place;
    let sum = sums.get(pack);
    if (sum === undefined) sums.set(pack, (sum = new PlaceSum()));
    sum.add(place);
    known.add(place.hash, place.rawLength);
    if (codec === BlobCodec.chunks) lists.push({ pack, offset, storedLength });
  });
  known.seal();
  check.blobs.known = known;
  return sums;
}

/** Packs that must exist: packs that are still written to, and packs that the index has places in. */
function missingPacks(
  { core, snapshot }: Check,
  packs: readonly { readonly number: number }[],
  indexed: ReadonlyMap<number, PlaceSum>,
): Set<number> {
  const there = new Set(packs.map((pack) => pack.number));
  const open = snapshot.tails.packs.map((pack) => pack.number);
  // A frame after the snapshot names this pack, so it is not part of this check.
  const young = new Set(core.tails.packs.map((pack) => pack.number));
  const used = [...indexed.keys()].filter((number) => !young.has(number));
  return new Set([...open, ...used].filter((number) => !there.has(number)));
}

function addMissing({ findings, blobs }: Check, number: number): void {
  blobs.missingPacks.add(number);
  findings.add(lost(packFile(number), 0, 'the pack is missing'));
}

type ListPlace = Pick<BlobPlace, 'pack' | 'offset' | 'storedLength'>;

/**
 * Checks blobs stored in chunks: every chunk exists and is intact, and together they have the right length. The
 * hash of the whole blob is checked when it is read as a whole: computing it here, too, would read and hash
 * everything twice.
 */
async function checkChunkLists(check: Check, lists: readonly ListPlace[]): Promise<void> {
  for (const [done, place] of lists.entries()) {
    await checkList(check, place);
    if (done % STEP === 0) await check.findings.breathe(0, 'chunks');
  }
}

async function checkList(check: Check, place: ListPlace): Promise<void> {
  const { files, findings } = check;
  const { pack, offset, storedLength } = place;
  const length = BLOB_OVERHEAD_BYTES + storedLength;
  const record = decodeBlobRecord(await files.read(packFile(pack), offset, length));
  // A damaged record was reported when its pack was read.
  if (record?.codec !== BlobCodec.chunks) return;
  const { hash, rawLength } = record;
  const chunks = decodeChunkList(record.stored);
  const wrong =
    chunks === undefined || !addsUp(chunks, rawLength)
      ? 'the chunks of this blob do not add up'
      : chunks.every((chunk) => isChunkThere(check, chunk))
        ? undefined
        : 'a chunk of this blob cannot be read';
  if (wrong === undefined) return;
  noteUnreadable(check, { hash, pack, offset });
  findings.add({ ...lost(packFile(pack), offset, wrong, length), id: hash });
}

function addsUp(chunks: readonly Chunk[], rawLength: number): boolean {
  return chunks.reduce((sum, chunk) => sum + chunk.size, 0) === rawLength;
}

function isChunkThere({ core, blobs }: Check, { hash, size }: Chunk): boolean {
  const found = blobs.sizeOf(core, hash);
  return found === size || found === 'unknown';
}

/** A pack that the index disagrees with, or that has damaged records. */
interface Suspect {
  readonly length: number;
  readonly bad: readonly BadRange[];
}

/** Finds the places that differ, one by one. Slow, and only for packs with a problem. */
async function comparePlaces(check: Check, suspects: ReadonlyMap<number, Suspect>): Promise<void> {
  const told = await checkIndexedPlaces(check, suspects);
  for (const [number, { length, bad }] of suspects) {
    for (const { offset, end } of bad) {
      const isTold = told.has(placeKey(number, offset));
      if (!isTold) check.findings.add(damagedRecord(number, offset, end - offset));
    }
    await checkRecords(check, number, length);
  }
}

/**
 * Checks that every place in the index is a record, or was one that is damaged now. Returns the damaged places that
 * could be reported together with their hash.
 */
async function checkIndexedPlaces(
  check: Check,
  suspects: ReadonlyMap<number, Suspect>,
): Promise<Set<string>> {
  const told = new Set<string>();
  await eachPlace(check, async (place) => {
    const suspect = suspects.get(place.pack);
    if (suspect === undefined) return;
    const { pack, offset, hash } = place;
    const range = suspect.bad.find((bad) => offset >= bad.offset && offset < bad.end);
    if (range === undefined) {
      await checkPlace(check, place);
      return;
    }
    noteUnreadable(check, place);
    const length = Math.min(range.end - offset, BLOB_OVERHEAD_BYTES + place.storedLength);
    check.findings.add({ ...damagedRecord(pack, offset, length), id: hash });
    told.add(placeKey(pack, offset));
  });
  return told;
}

async function checkPlace(check: Check, place: BlobPlace): Promise<void> {
  const { files, findings } = check;
  const bytes = await files.read(packFile(place.pack), place.offset, BLOB_HEADER_BYTES);
  const header = decodeBlobHeader(bytes);
  const same =
    header?.hash === place.hash &&
    header.rawLength === place.rawLength &&
    header.storedLength === place.storedLength &&
    header.codec === place.codec;
  if (same) return;
  findings.add(staleIndex('the index has a blob where none is', place.hash));
  noteUnreadable(check, place);
}

/** Checks that every record is found by its hash, here or at another place that is as good. */
async function checkRecords(check: Check, number: number, length: number): Promise<void> {
  const { core, files, findings, blobs } = check;
  await walkPack(files, number, length, (item) => {
    if (item.kind !== 'blob' || item.codec === BlobCodec.erased) return;
    const { hash, offset } = item;
    const best = core.index.findBlob(hash);
    // A finding about this very record stays. A record that the index wrongly has elsewhere is found here.
    const isHere = best?.pack === number && best.offset === offset;
    if (isHere || (best !== undefined && !blobs.unreadable.has(hash))) return;
    blobs.unreadable.delete(hash);
    blobs.unindexed.add(hash);
    findings.add(staleIndex('the index does not know this blob', item.hash));
  });
}

function damagedRecord(pack: number, offset: number, length: number): Found {
  return lost(packFile(pack), offset, 'the record here is damaged', length);
}

function placeKey(pack: number, offset: number): string {
  return `${pack} ${offset}`;
}

/** Walks the index's places that the snapshot covers, with a pause for others now and then. */
async function eachPlace(
  { core, findings, snapshot }: Check,
  onPlace: (place: BlobPlace) => Promise<void> | void,
): Promise<void> {
  const { nextPack, packs } = snapshot.tails;
  const lengths = new Map(packs.map((pack) => [pack.number, pack.length]));
  let count = 0;
  for (const place of core.index.flushed().walkBlobs()) {
    count += 1;
    if (count % PLACES_STEP === 0) await findings.breathe(0, 'index');
    if (place.pack >= nextPack || place.offset >= (lengths.get(place.pack) ?? Infinity)) continue;
    const work = onPlace(place);
    if (work !== undefined) await work;
  }
}

/** Checks the SHA-256 names of blobs: each is computed again from the content. */
export async function checkAliases(check: Check): Promise<void> {
  const { core, findings } = check;
  await ALIAS_RECORDS.check(check, 'aliases', async (bytes, number) => {
    const alias = ALIAS_RECORDS.decode(bytes, number);
    if (alias === undefined) {
      findings.add(problemOfAlias(number, 'this SHA-256 record is damaged', true));
      return;
    }
    if (core.index.findSha256(alias.sha256) !== alias.hash) {
      findings.add(staleIndex(`the index does not know the SHA-256 ${alias.sha256}`, alias.hash));
    }
    await checkContent(check, alias, number);
  });
}

async function checkContent(check: Check, alias: AliasRecord, number: number): Promise<void> {
  const { core, findings, blobs } = check;
  const { hash, sha256 } = alias;
  if (!blobs.isThere(core, hash)) {
    // A collection takes blobs that nothing refers to. Then their SHA-256 name means nothing.
    if (core.collected.next > 0 && !blobs.unreadable.has(hash)) return;
    const what = 'the blob with this SHA-256 cannot be read';
    findings.add({ ...problemOfAlias(number, what, false), id: hash });
    return;
  }
  const found = await sha256Of(check, hash);
  if (found === undefined || found === sha256) return;
  const what = 'this is not the SHA-256 of the blob';
  findings.add({ ...problemOfAlias(number, what, true), id: hash });
}

/** Undefined when the content cannot be read. Another check reports that damage at its place. */
async function sha256Of({ core }: Check, hash: Hash): Promise<string | undefined> {
  const hasher = createSha256();
  const read = async (): Promise<string> => {
    for await (const piece of core.blobs.read(hash, 0, Infinity)) hasher.update(piece);
    return hasher.digest();
  };
  return orNothing(read, 'CORRUPT', 'NOT_FOUND');
}

function problemOfAlias(number: number, what: string, inRecord: boolean): Found {
  const { id: _, ...problem } = ALIAS_RECORDS.problem(number, what, inRecord);
  return problem;
}

// The blobs of the index with their lengths, for checks of all turns and chunks: 12 bytes a blob. A lookup in the
// index itself reads a page of it, which took half of the time of checking small turns. 64 bits of each hash are
// kept. Two hashes that share these bits count as one: among ten million blobs a missing one goes unnoticed with a
// chance of one in 10^12, and its reader still gets an error.

const BUCKET_BITS = 16;
const BUCKETS = 2 ** BUCKET_BITS;

export class KnownBlobs {
  #high: Uint32Array;
  #low: Uint32Array;
  #sizes: Uint32Array;
  #count = 0;
  #isSorted = true;
  /** The start of the hashes that begin with these 16 bits. Empty until `seal`. */
  #starts: Uint32Array = new Uint32Array();

  /** `expected` is the approximate number of blobs. */
  constructor(expected: number) {
    this.#high = new Uint32Array(expected + 1);
    this.#low = new Uint32Array(expected + 1);
    this.#sizes = new Uint32Array(expected + 1);
  }

  /** When a blob is added twice, either size may be kept. */
  add(hash: Hash, size: number): void {
    const at = this.#count;
    if (at === this.#high.length) {
      this.#high = grown(this.#high);
      this.#low = grown(this.#low);
      this.#sizes = grown(this.#sizes);
    }
    const high = wordAt(hash, 0);
    if (at > 0 && high < (this.#high[at - 1] ?? 0)) this.#isSorted = false;
    this.#high[at] = high;
    this.#low[at] = wordAt(hash, 8);
    this.#sizes[at] = size;
    this.#count += 1;
  }

  /** Call this after all blobs are added, and before `sizeOf`. An index is walked mostly in order. */
  seal(): void {
    if (!this.#isSorted) this.#sort();
    this.#starts = new Uint32Array(BUCKETS + 1);
    for (let at = 0; at < this.#count; at += 1) {
      const next = ((this.#high[at] ?? 0) >>> (32 - BUCKET_BITS)) + 1;
      this.#starts[next] = at + 1;
    }
    for (let bucket = 1; bucket <= BUCKETS; bucket += 1) {
      this.#starts[bucket] = Math.max(this.#starts[bucket] ?? 0, this.#starts[bucket - 1] ?? 0);
    }
  }

  /** Undefined for a blob that was not added. */
  sizeOf(hash: Hash): number | undefined {
    const high = wordAt(hash, 0);
    const low = wordAt(hash, 8);
    const bucket = high >>> (32 - BUCKET_BITS);
    let from = this.#starts[bucket] ?? 0;
    let to = this.#starts[bucket + 1] ?? 0;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#high[middle] ?? 0) < high) from = middle + 1;
      else to = middle;
    }
    for (; from < this.#count && this.#high[from] === high; from += 1) {
      if (this.#low[from] === low) return this.#sizes[from];
    }
    return undefined;
  }

  #sort(): void {
    const order = Array.from({ length: this.#count }, (_, at) => at);
    order.sort((a, b) => (this.#high[a] ?? 0) - (this.#high[b] ?? 0));
    const sorted = (words: Uint32Array): Uint32Array =>
      Uint32Array.from(order, (at) => words[at] ?? 0);
    [this.#low, this.#sizes, this.#high] = [
      sorted(this.#low),
      sorted(this.#sizes),
      sorted(this.#high),
    ];
  }
}

function grown(words: Uint32Array): Uint32Array {
  const more = new Uint32Array(words.length * 2);
  more.set(words);
  return more;
}

function wordAt(hash: Hash, digit: number): number {
  return Number.parseInt(hash.slice(digit, digit + 8), 16);
}
