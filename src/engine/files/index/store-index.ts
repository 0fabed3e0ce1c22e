import type { Hash, KeyHash } from '../../../base/brand.ts';
import { LruCache } from '../../../base/lru-cache.ts';
import { BLOB_OVERHEAD_BYTES } from '../../../format/blob-record.ts';
import type { BlobUse } from '../../engine.ts';
import type {
  BlobPlace,
  ContextPlace,
  ContextTags,
  DocPlace,
  PlaceRef,
  Positions,
  Shelf,
  ShelfBatch,
  Totals,
} from './shelf.ts';

export const INDEX_FILE = 'index.db';

// The accelerator as the engine sees it: recent additions in memory, in front of a shelf.
// Invariants
// - An entry is found from the moment it is added; waiting entries win over the shelf's.
// - A flush takes all waiting entries, and the positions of that moment cover exactly the entries added. If the
//   flush fails, the entries stay waiting and the next flush tries again.

/**
 * Larger flushes make fewer and longer runs to search. Smaller flushes make shorter pauses. Entries that are
 * waiting when a process dies are read again from the tails of the truth files.
 */
const FLUSH_LIMIT = 2048;
const HOT_BLOBS = 4096;
/** The number of entries by which each merge advances in one step. */
const MERGE_STEP = 512;

type Lists = Pick<
  Shelf,
  'listContexts' | 'countContexts' | 'listDocs' | 'listLogs' | 'listBlobs' | 'walkBlobs' | 'counts'
>;

export interface IndexOptions {
  readonly shelf: Shelf;
  /** The ends of the truth files up to which entries have been added. */
  readonly positions: () => Positions;
  /** `maybeFlush` does nothing below this many waiting entries. */
  readonly flushLimit?: number;
}

export class Index {
  readonly #shelf: Shelf;
  readonly #positions: () => Positions;
  readonly #flushLimit: number;
  /** Places found on the shelf. A hot blob is then found without reading. */
  readonly #hot: LruCache<Hash, BlobPlace> = new LruCache(HOT_BLOBS, () => 1);
  /** All packs ever dropped. Data read again from the truth files after a crash may name one of them. */
  readonly #gone: Set<number>;
  #waiting: Memtable = new Memtable();
  #totals: Totals;

  constructor(options: IndexOptions) {
    this.#shelf = options.shelf;
    this.#positions = options.positions;
    this.#flushLimit = options.flushLimit ?? FLUSH_LIMIT;
    this.#totals = options.shelf.totals();
    this.#gone = new Set(options.shelf.gonePacks());
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  get totals(): Totals {
    return this.#totals;
  }

  /** Adds to the totals. A negative number subtracts. The next flush stores them. */
  count(change: Partial<Totals>): void {
    const { turns, logicalBytes, blobs, blobBytes, storedBytes } = this.#totals;
    this.#totals = {
      turns: turns + (change.turns ?? 0),
      logicalBytes: logicalBytes + (change.logicalBytes ?? 0),
      blobs: blobs + (change.blobs ?? 0),
      blobBytes: blobBytes + (change.blobBytes ?? 0),
      storedBytes: storedBytes + (change.storedBytes ?? 0),
    };
  }

  addBlob(place: BlobPlace): void {
    if (this.#gone.has(place.pack)) return;
    this.#waiting.addBlob(place);
    // Otherwise the older place would be found again once this one is on the shelf.
    this.#hot.delete(place.hash);
  }

  addSha256(sha256: string, hash: Hash): void {
    this.#waiting.sha256.set(sha256, hash);
  }

  addKey(key: KeyHash, turn: number): void {
    this.#waiting.keys.set(key, turn);
  }

  addPatch(turn: number, seq: number): void {
    this.#waiting.addPatch(turn, seq);
  }

  setContext(id: number, place: ContextPlace): void {
    this.#waiting.contexts.set(id, place);
  }

  setContextTags(id: number, tags: ContextTags): void {
    this.#waiting.setContextTags(id, tags);
    if (tags.name !== undefined) this.#waiting.names.set(tags.name, id);
  }

  setDoc(name: string, place: DocPlace): void {
    this.#waiting.docs.set(name, place);
  }

  setLog(name: string, removed: boolean): void {
    this.#waiting.logs.set(name, removed);
  }

  /** A place that is looked up `once`, by a pass over everything, takes no room among the hot ones. */
  findBlob(hash: Hash, use: BlobUse = 'again'): BlobPlace | undefined {
    const near = this.#waiting.findBlob(hash) ?? this.#hot.get(hash);
    if (near !== undefined) return near;
    // Pending removals of packs must count for the shelf, too.
    if (this.#waiting.gonePacks.size > 0) this.flush();
    const place = this.#shelf.findBlob(hash);
    if (place !== undefined && use === 'again') this.#hot.set(hash, place);
    return place;
  }

  /** True when this is the place that a lookup finds, and not another one of the blob. */
  findsAt({ hash, pack, offset }: PlaceRef): boolean {
    const found = this.findBlob(hash);
    return found?.pack === pack && found.offset === offset;
  }

  findSha256(sha256: string): Hash | undefined {
    return this.#waiting.sha256.get(sha256) ?? this.#shelf.findSha256(sha256);
  }

  findKey(key: KeyHash): number | undefined {
    return this.#waiting.keys.get(key) ?? this.#shelf.findKey(key);
  }

  patchesOf(turns: readonly number[]): number[] {
    const stored = this.#shelf.patchesOf(turns);
    const waiting = turns.flatMap((turn) => this.#waiting.patches.get(turn) ?? []);
    if (waiting.length === 0) return stored;
    return [...new Set([...stored, ...waiting])].sort((a, b) => a - b);
  }

  getContext(id: number): ContextPlace | undefined {
    return this.#waiting.contexts.get(id) ?? this.#shelf.getContext(id);
  }

  /** The context that has this name and is not removed. */
  findName(name: string): number | undefined {
    const given = this.#waiting.names.get(name);
    if (given !== undefined && this.#hasName(given, name)) return given;
    return this.#shelf.withName(name).find((id) => this.#hasName(id, name));
  }

  /** Trusts the shelf for the name of a context that has no waiting one. */
  #hasName(id: number, name: string): boolean {
    const tags = this.#waiting.contextTags.get(id);
    return (tags === undefined || tags.name === name) && this.getContext(id)?.removed === false;
  }

  findDoc(name: string): DocPlace | undefined {
    return this.#waiting.docs.get(name) ?? this.#shelf.findDoc(name);
  }

  /** The shelf, which has all waiting entries now: what goes through many entries looks only there. */
  flushed(): Lists {
    this.flush();
    return this.#shelf;
  }

  /** Removes places and subtracts their amounts from the totals, as one change. */
  forgetBlobs(places: readonly BlobPlace[]): void {
    this.flush();
    this.#hot.clear();
    for (const place of places) this.count(countOf(place, -1));
    this.#shelf.forgetBlobs(places, { totals: this.#totals, positions: this.#positions() });
  }

  /** The pack is gone: its places are not found from now on. */
  dropPack(pack: number): void {
    this.#gone.add(pack);
    this.#waiting.gonePacks.add(pack);
    this.#hot.clear();
  }

  /** Runs in a quiet moment, after an acknowledgement. Flushes when enough entries are waiting. */
  maybeFlush(): void {
    if (this.#waiting.size >= this.#flushLimit) this.flush();
  }

  /** Flushes, and resolves when the shelf would survive a power cut. */
  async sync(): Promise<void> {
    this.flush(true);
    await this.#shelf.sync();
  }

  /** Like `flush`, and leaves the longer part of the work to `merge`. */
  flushUnmerged(): void {
    if (this.#waiting.size > 0) this.#apply(true);
  }

  /** Does a few milliseconds of the work that `flushUnmerged` left. Returns true when there is more. */
  merge(): boolean {
    return this.#shelf.merge(MERGE_STEP);
  }

  /** Writes all waiting entries to the shelf. With `always`, writes the positions even when nothing is waiting. */
  flush(always = false): void {
    if (this.#waiting.size > 0 || always) this.#apply(false);
  }

  #apply(mergeLater: boolean): void {
    const batch = this.#waiting.toBatch(this.#totals, this.#positions());
    this.#shelf.apply({ ...batch, mergeLater });
    this.#waiting = new Memtable();
  }

  /** Flushes and closes the shelf. */
  close(): void {
    try {
      this.flush();
    } finally {
      // Otherwise the next process that opens the store would find the shelf in use.
      this.#shelf.close();
    }
  }
}

/** The amounts that a place adds to the totals, or subtracts when it is removed. */
export function countOf({ rawLength, storedLength }: BlobPlace, sign: 1 | -1): Partial<Totals> {
  const storedBytes = sign * (BLOB_OVERHEAD_BYTES + storedLength);
  return { blobs: sign, blobBytes: sign * rawLength, storedBytes };
}

/** Entries that are not on the shelf yet. The same lookups find them. */
class Memtable {
  readonly sha256: Map<string, Hash> = new Map();
  readonly keys: Map<KeyHash, number> = new Map();
  readonly patches: Map<number, number[]> = new Map();
  readonly contexts: Map<number, ContextPlace> = new Map();
  readonly contextTags: Map<number, ContextTags> = new Map();
  /** The last context that was given each name. */
  readonly names: Map<string, number> = new Map();
  readonly docs: Map<string, DocPlace> = new Map();
  /** Whether the log of that name is removed. */
  readonly logs: Map<string, boolean> = new Map();
  readonly gonePacks: Set<number> = new Set();
  readonly #blobs: Map<Hash, BlobPlace> = new Map();
  /** The number of fields that came with tags. Each takes the room of an entry. */
  #fields = 0;
  /** All places, including older places of a blob that got another one later. */
  readonly #places: BlobPlace[] = [];

  get size(): number {
    return (
      this.#places.length +
      this.sha256.size +
      this.keys.size +
      this.patches.size +
      this.contexts.size +
      this.contextTags.size +
      this.#fields +
      this.docs.size +
      this.logs.size +
      this.gonePacks.size
    );
  }

  setContextTags(id: number, tags: ContextTags): void {
    this.contextTags.set(id, tags);
    this.#fields += tags.fields.length;
  }

  addBlob(place: BlobPlace): void {
    this.#blobs.set(place.hash, place);
    this.#places.push(place);
  }

  findBlob(hash: Hash): BlobPlace | undefined {
    const place = this.#blobs.get(hash);
    return place === undefined || this.gonePacks.has(place.pack) ? undefined : place;
  }

  addPatch(turn: number, seq: number): void {
    const known = this.patches.get(turn);
    if (known === undefined) this.patches.set(turn, [seq]);
    else if (!known.includes(seq)) known.push(seq);
  }

  toBatch(totals: Totals, positions: Positions): ShelfBatch {
    return {
      blobs: this.#places,
      sha256: [...this.sha256].map(([sha256, hash]) => ({ sha256, hash })),
      keys: [...this.keys].map(([key, turn]) => ({ key, turn })),
      patches: [...this.patches].flatMap(([turn, seqs]) => seqs.map((seq) => ({ turn, seq }))),
      contexts: [...this.contexts].map(([id, place]) => ({ id, ...place })),
      contextMeta: [...this.contextTags].map(([id, tags]) => ({ id, ...tags })),
      docs: [...this.docs].map(([name, place]) => ({ name, ...place })),
      logs: [...this.logs].map(([name, removed]) => ({ name, removed })),
      gonePacks: [...this.gonePacks],
      totals,
      positions,
    };
  }
}
