import type { Hash, KeyHash } from '../../../base/brand.ts';
import { crc32 } from '../../../format/bytes.ts';
import type { ContextQuery, EngineStats } from '../../engine.ts';
import type { FieldRange, MetaField } from '../../context-meta.ts';

// The accelerator's data on disk. All of it can be rebuilt from the truth files, so nothing here is ever synced for
// safety. Any doubt about it ends in `ShelfDamaged` and a rebuild.
//
// Atomicity: one `apply` is there as a whole or not at all, with the positions it belongs to.
// Answers: a lookup is right, or says `undefined` for what was never applied, or throws `ShelfDamaged`.
// Names of logs and documents are ASCII, so byte order and code unit order are the same.

/** The position up to which each truth file is indexed, for example `{"turns":12,"pack:1":99999}`. */
export type Positions = Readonly<Record<string, number>>;

export type Totals = Pick<
  EngineStats,
  'turns' | 'logicalBytes' | 'blobs' | 'blobBytes' | 'storedBytes'
>;

export const NO_TOTALS: Totals = {
  turns: 0,
  logicalBytes: 0,
  blobs: 0,
  blobBytes: 0,
  storedBytes: 0,
};

/** The start of a blob record. A blob may have several places, and each is as good as the other. */
export interface BlobPlace {
  readonly hash: Hash;
  readonly pack: number;
  readonly offset: number;
  readonly rawLength: number;
  readonly storedLength: number;
  readonly codec: number;
}

export type PlaceRef = Pick<BlobPlace, 'hash' | 'pack' | 'offset'>;

/** The parts of a head that no other file could give back. A head that `heads.tbl` lost is rebuilt from here. */
export interface ContextPlace {
  readonly head: number;
  readonly base: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly removed: boolean;
}

export interface DocPlace {
  readonly offset: number;
  readonly length: number;
  readonly version: number;
  readonly removed: boolean;
}

/** What a user said of a context, as far as lists of contexts depend on it. */
export interface ContextTags {
  readonly name: string | undefined;
  readonly kind: string | undefined;
  readonly labels: readonly string[];
  readonly fields: readonly MetaField[];
}

/** Upserts, applied in order: the last one for a context, document or log wins. */
export interface ShelfBatch {
  readonly blobs: readonly BlobPlace[];
  readonly sha256: readonly { readonly sha256: string; readonly hash: Hash }[];
  /** A key gets one turn, permanently. */
  readonly keys: readonly { readonly key: KeyHash; readonly turn: number }[];
  readonly patches: readonly { readonly turn: number; readonly seq: number }[];
  readonly contexts: readonly ({ readonly id: number } & ContextPlace)[];
  /** Replaces name, kind, labels and fields of that context. */
  readonly contextMeta: readonly ({ readonly id: number } & ContextTags)[];
  readonly docs: readonly ({ readonly name: string } & DocPlace)[];
  readonly logs: readonly { readonly name: string; readonly removed: boolean }[];
  /** Packs that are gone: every place in them is forgotten, now and when it appears again. */
  readonly gonePacks: readonly number[];
  /** Absolute totals, which replace the old ones. */
  readonly totals: Totals;
  /** Positions, which replace the old ones. */
  readonly positions: Positions;
  /** True when the caller makes sure that `merge` does the work that this batch leaves. */
  readonly mergeLater?: boolean;
}

/** The part of a change besides its entries. */
export type Covered = Pick<ShelfBatch, 'totals' | 'positions'>;

export interface ContextPageQuery extends Omit<ContextQuery, 'fields' | 'count' | 'cursor'> {
  readonly fields?: readonly FieldRange[];
  /** Only entries after this one in the order of the list. */
  readonly before?: { readonly updatedAt: number; readonly id: number };
}

export type Counts = Pick<EngineStats, 'contexts' | 'logs' | 'docs'>;

export interface Shelf {
  /** True when the shelf's file cannot be written: then the shelf ends with the process. */
  readonly inMemory?: boolean;
  positions(): Positions;
  totals(): Totals;
  /** All packs that batches have marked as gone. */
  gonePacks(): Iterable<number>;
  apply(batch: ShelfBatch): void;
  /** Does about `entries` of the work that earlier batches left. Returns true when there is more. */
  merge(entries: number): boolean;
  findBlob(hash: Hash): BlobPlace | undefined;
  findSha256(sha256: string): Hash | undefined;
  findKey(key: KeyHash): number | undefined;
  /** Sequence numbers of all patches on these turns, rising. */
  patchesOf(turns: readonly number[]): number[];
  /** Also answers for a removed context. */
  getContext(id: number): ContextPlace | undefined;
  /** Contexts that were described with this name, newest first. They may be removed, or not known here yet. */
  withName(name: string): number[];
  /** Ids of contexts that are not removed, by falling `updatedAt`, then falling id. */
  listContexts(query: ContextPageQuery): number[];
  /** The number of contexts that the query takes, whatever its limit. */
  countContexts(query: ContextPageQuery): number;
  /** Also answers for a removed document: its version number continues. */
  findDoc(name: string): DocPlace | undefined;
  /** Names of logs or documents that are not removed, sorted. */
  listDocs(prefix: string, limit: number, after?: string): string[];
  listLogs(prefix: string, limit: number, after?: string): string[];
  /** Hashes that begin with `prefix`, in hex digits, sorted, after `after`. */
  listBlobs(prefix: string, limit: number, after?: Hash): Hash[];
  /** Every place once, with bounded memory. Changes made meanwhile may or may not be seen. */
  walkBlobs(): Iterable<BlobPlace>;
  /** Forgets places, together with the totals and positions of `next`. Without `next` the old ones stay. */
  forgetBlobs(places: readonly PlaceRef[], next?: Covered): void;
  /** The numbers of entries that are not removed. Reads the tables, so not for hot paths. */
  counts(): Counts;
  /** Everything applied before the call survives a power cut when this resolves. */
  sync(): Promise<void>;
  close(): void;
}

/** The shelf cannot be trusted any more. Discard it and rebuild it from the truth files. */
export class ShelfDamaged extends Error {
  constructor(problem: string, options?: ErrorOptions) {
    super(`the index is damaged: ${problem}`, options);
    this.name = 'ShelfDamaged';
  }
}

/** The source of shelves. A new shelf is built aside and then replaces the old one. */
export interface ShelfSource {
  open(): Shelf;
  /** `inMemory`: used when a file cannot be written. */
  create(inMemory?: boolean): Shelf;
  install(fresh: Shelf, old: Shelf): Shelf;
}

/**
 * The checksum that a row carries over its other columns, in the order of its table. The checksum is the last column.
 * Bytes count as hex digits.
 */
function sumOf(row: object): number {
  const columns: unknown[] = Object.values(row);
  if ('sum' in row) columns.pop();
  for (let at = 0; at < columns.length; at += 1) {
    const value = columns[at];
    if (value instanceof Uint8Array) columns[at] = Buffer.from(value).toString('hex');
  }
  return crc32(Buffer.from(JSON.stringify(columns)));
}

export function summed<Row extends object>(row: Row): Row & { sum: number } {
  return { ...row, sum: sumOf(row) };
}

export function checked<Row extends { readonly sum: number }>(table: string, row: Row): Row {
  if (row.sum === sumOf(row)) return row;
  throw new ShelfDamaged(`a row of ${table} has a wrong checksum`);
}
