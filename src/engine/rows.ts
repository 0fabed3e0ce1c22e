import type { Hash, TurnId } from '../base/brand.ts';
import type { HeadRecord } from '../format/head-record.ts';
import { type PatchRecord, NO_HASH } from '../format/patch-record.ts';
import type { TurnRecord } from '../format/turn-record.ts';

// Reads give `NO_HASH`, zeros, in place of the hash of a blob that was erased and not put again. The real hash
// would let anyone check a guess of the content. Only `upkeep` shows it, because a copy and an erasure need it.

/**
 * A turn as an engine knows it. The payload itself is the blob `payload`, which is undefined while the turn is open: an
 * open turn has bytes and no blob yet.
 */
export interface TurnRow extends Omit<TurnRecord, 'typeTag' | 'jump' | 'sideJump' | 'idempotency'> {
  readonly type: string;
  readonly version: number;
}

export type HeadRow = Omit<HeadRecord, 'openBytes' | 'removed'>;

/** The metadata of a context, given by users. Every field is optional, and an absent field means "not said". */
export interface ContextMeta {
  /** The context's name, which no other context of the store has. Only a creation and a renaming set it. */
  readonly name?: string;
  readonly title?: string;
  readonly kind?: string;
  readonly labels?: readonly string[];
  readonly meta?: unknown;
}

export interface ContextRow extends HeadRow {
  readonly meta: ContextMeta;
}

/** An overlay on a sealed turn. The turn's own record never changes. */
export type PatchRow = Omit<PatchRecord, 'fsRoot'>;

/** The state of the files around a turn: a tree blob, which names the blobs of files and other trees. */
export interface FsRootRow {
  readonly turn: TurnId;
  readonly root: Hash;
  /** Of the roots a turn was given, the one with the highest number counts. */
  readonly seq: number;
}

export interface LogRow {
  readonly name: string;
  readonly lines: number;
  readonly bytes: number;
}

/** A range of a file whose bytes are not the bytes that were written. */
export interface LogDamage {
  readonly file: string;
  readonly offset: number;
  /** The number of damaged bytes that are there. 0 when they are gone. */
  readonly bytes: number;
  readonly what: string;
}

/** The provable part of a log. Damaged bytes are never among its lines. */
export interface SalvagedLog {
  /** The number of lines that the log's records cover, damaged lines included. */
  readonly lines: number;
  readonly bytes: number;
  /** The requested lines, each as it was written, or the damage in its place. */
  readonly page: readonly (string | LogDamage)[];
  /** The damage of the whole log. While there is any, nothing can be appended. */
  readonly damage: readonly LogDamage[];
}

export interface DocRow {
  readonly name: string;
  /** 1 for the first content; rises by one per update, also across a removal. */
  readonly version: number;
  /** JSON text as given. */
  readonly content: string;
}

export interface BlobStat {
  readonly hash: Hash;
  readonly size: number;
  /** The bytes that the blob takes in the store. For a chunked blob: the list and all its chunks. */
  readonly storedSize: number;
  /** The number of chunks that the blob is stored as. 0 when it is one record. */
  readonly chunks: number;
}

// Rows as readers may see them. The hash of erased bytes would let anyone check a guess of them.

/** All blobs that were ever erased, and the blobs that are there: erased bytes may have been put again. */
interface Blobs {
  readonly erased: { has(hash: Hash): boolean };
  hasBlob(hash: Hash): boolean;
}

export function showTurn(blobs: Blobs, row: TurnRow | undefined): TurnRow | undefined {
  return row && showRow(blobs, row);
}

export function showRows<R extends TurnRow | PatchRow>(blobs: Blobs, rows: readonly R[]): R[] {
  return rows.map((row) => showRow(blobs, row));
}

export function showRoots(blobs: Blobs, rows: readonly FsRootRow[]): FsRootRow[] {
  return rows.map((row) => (isErased(blobs, row.root) ? { ...row, root: NO_HASH } : row));
}

function showRow<R extends TurnRow | PatchRow>(blobs: Blobs, row: R): R {
  const { payload } = row;
  return payload !== undefined && isErased(blobs, payload) ? { ...row, payload: NO_HASH } : row;
}

function isErased(blobs: Blobs, hash: Hash): boolean {
  return blobs.erased.has(hash) && !blobs.hasBlob(hash);
}
