import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type { Batch, Change, Committed } from './batch.ts';
import type {
  BlobStat,
  ContextRow,
  DocRow,
  FsRootRow,
  HeadRow,
  LogRow,
  PatchRow,
  SalvagedLog,
  TurnRow,
} from './rows.ts';
import type { Progress } from './progress.ts';
import type { Upkeep } from './upkeep.ts';

// The contract that every engine keeps. The five kinds of thread know nothing else of storage.
//
// Isolation: commits are serial. A read sees a prefix of the commit order, never half a batch, and never a commit
// that could still be lost. A reader that was told of a commit sees it.
// Durability: `commit` resolves once the whole batch would survive a power cut (unless the engine was
// opened `unsafe`, which `stats` says).
// Opening: a turn that was open when the store was last in use is sealed as interrupted, with every
// acknowledged byte, before the engine answers anything.
// Absence: reads return undefined for a missing record, and throw CORRUPT, with the place, for a damaged one.
// Damaged bytes are never returned.

/** `true`, or the reason why the feature is missing. The conformance suite prints the reason beside each skip. */
export type Capability = true | { readonly missing: string };

export interface EngineCapabilities {
  /** The same data can be closed and opened again by the suite. */
  readonly reopen: Capability;
  /** `reindex` rebuilds something. */
  readonly reindex: Capability;
  /** `upkeep.backup` copies the store into a folder. */
  readonly backup: Capability;
  /** `upkeep.startCollection` shows what is stored and sweeps it. */
  readonly collection: Capability;
  /** `upkeep.records` and `upkeep.adopt` make one store the copy of another. */
  readonly adoption: Capability;
}

/** A condition on a field at the top of a context's `meta`. Objects and lists are found by `exists` alone. */
export type FieldCondition =
  | { readonly field: string; readonly is: string | number | boolean | null }
  /** The field is a string that begins with this text. */
  | { readonly field: string; readonly prefix: string }
  | { readonly field: string; readonly exists: boolean };

/** Milliseconds since 1970. */
export interface TimeRange {
  /** From this time on. */
  readonly since?: number;
  /** Before this time. */
  readonly until?: number;
}

export interface ContextQuery {
  /** Only contexts with this label. */
  readonly label?: string;
  readonly kind?: string;
  /** Only contexts whose name begins with this text. */
  readonly namePrefix?: string;
  /** Only contexts whose `meta` is an object that fits all of these; at most 8. */
  readonly fields?: readonly FieldCondition[];
  readonly created?: TimeRange;
  readonly updated?: TimeRange;
  /** Also count the contexts of the whole list, as they are now. */
  readonly count?: boolean;
  /** The maximum number of rows. */
  readonly limit: number;
  /** An opaque cursor from the page before. */
  readonly cursor?: string;
}

/**
 * Contexts with the newest `updatedAt` first. A context that moves between two pages may show twice, but is never
 * missed.
 */
export interface ContextList {
  readonly rows: readonly ContextRow[];
  readonly cursor?: string;
  /** The number of contexts that the query takes, on all pages, if it was asked for. */
  readonly total?: number;
}

export interface BlobSource {
  /** The bytes may be larger than memory: they are read once, in order, with bounded buffers. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Also record the SHA-256. */
  readonly sha256?: boolean;
}

export interface BlobStored extends BlobStat {
  /** True when the same bytes were in the store before. */
  readonly existed: boolean;
  readonly sha256?: string;
}

/** The newest ids that readers can see, all of one moment. 0 means that there is none yet. */
export interface Tips {
  /** Open turns count, too, because they have their id. */
  readonly turn: TurnId;
  readonly context: bigint;
  readonly patch: number;
  /** The turns that are open, by rising id. */
  readonly open: readonly TurnId[];
}

/** Records by their numbers. Each list rises and names each number once. */
export interface Wanted {
  readonly contexts?: readonly ContextId[];
  /** Contexts of which the heads are enough: their details are not read. */
  readonly heads?: readonly ContextId[];
  readonly turns?: readonly TurnId[];
  /** Sequence numbers. Numbers of file-system roots are not patches. */
  readonly patches?: readonly number[];
}

/** The requested records that exist, in the same order. */
export interface Found {
  readonly contexts: readonly ContextRow[];
  readonly heads: readonly HeadRow[];
  /** Open turns are included. */
  readonly turns: readonly TurnRow[];
  readonly patches: readonly PatchRow[];
}

/** The newest turns of a context with everything known of them, all of one moment. */
export interface LastTurns {
  readonly headDepth: number;
  /** Newest first. */
  readonly turns: readonly TurnRow[];
  /** The patches on these turns, by rising sequence number. */
  readonly patches: readonly PatchRow[];
  readonly fsRoots: readonly FsRootRow[];
  /** Payloads sent along, to be shared. A large page may lack some. Damaged or missing payloads are left out. */
  readonly blobs: ReadonlyMap<Hash, Uint8Array>;
}

/** An open turn with the bytes acknowledged so far. */
export interface OpenTurnRow {
  readonly row: TurnRow;
  readonly bytes: Uint8Array;
}

export interface EngineStats {
  readonly engine: string;
  readonly durability: 'safe' | 'unsafe';
  readonly turns: number;
  readonly contexts: number;
  /** File-system roots included. */
  readonly patches: number;
  readonly blobs: number;
  /** Raw bytes of all distinct blobs. */
  readonly blobBytes: number;
  /** The bytes that the blobs take on disk, record overhead included. */
  readonly storedBytes: number;
  /** Raw bytes of all turn payloads, each counted as often as it is used. */
  readonly logicalBytes: number;
  readonly logs: number;
  readonly docs: number;
  /** Everything the store occupies on disk. */
  readonly diskBytes: number;
  /** The parts of `diskBytes`, the largest first: groups of files in a folder, tables in a database. */
  readonly disk: readonly { readonly part: string; readonly bytes: number }[];
  /** The last backup that came to its end, for an engine that makes backups. Absent when none did. */
  readonly lastBackup?: { /** Unix time in milliseconds. */ readonly at: number };
  /** For an engine with a journal: the part of it that opening after a crash would have to replay. */
  readonly journal?: {
    readonly frames: number;
    /** True when a sync has failed: nothing more is acknowledged until the store is opened again. */
    readonly broken: boolean;
  };
  /** Damage known so far. Reads that depend on damaged parts answer CORRUPT. All other reads go on. */
  readonly damage: readonly {
    readonly file: string;
    readonly offset: number;
    readonly what: string;
  }[];
}

export type { Progress } from './progress.ts';

/** Whether the bytes of a blob are likely to be wanted again soon. */
export type BlobUse = 'again' | 'once';

/** A blob as it was read, for callers that write it again. */
export interface BlobView {
  readonly bytes: Uint8Array;
  /** The bytes as the zstd frame that they were read from. */
  readonly zstd?: Uint8Array;
}

/** The reads of contents. */
export interface ContentReads {
  hasBlob(hash: Hash): Promise<boolean>;
  statBlob(hash: Hash): Promise<BlobStat | undefined>;
  /** The bytes, checked against the hash. The caller owns the array. */
  getBlob(hash: Hash): Promise<Uint8Array | undefined>;
  /**
   * Like `getBlob`, without a copy: the bytes are shared with the engine and must not be written to. Bytes that are
   * read `once`, by a pass over everything, take no room in a cache.
   */
  viewBlob(hash: Hash, use?: BlobUse): Promise<Uint8Array | undefined>;
  /** Like `viewBlob`, at once, if the bytes are in memory. An engine that keeps none in memory has no such method. */
  peekBlob?(hash: Hash): Uint8Array | undefined;
  /**
   * Like `viewBlob` for many blobs that are read `once`, in this order: neighbours on the disk are read together. A blob
   * that cannot be had in this way is undefined, and `viewBlob` says why. They may share their memory, so a caller keeps
   * none of them for long. An engine that would gain nothing has no such method.
   */
  viewBlobs?(hashes: readonly Hash[]): Promise<readonly (BlobView | undefined)[]>;
  /** Bytes `start` up to `end` (exclusive) in pieces, with bounded memory whatever the size. NOT_FOUND when missing. */
  readBlob(hash: Hash, start?: number, end?: number): AsyncIterable<Uint8Array>;
}

export interface TurnReads {
  getTurn(id: TurnId): Promise<TurnRow | undefined>;
  /** `from` and up to `limit - 1` of its ancestors, newest first. NOT_FOUND when `from` is missing. */
  walkBack(from: TurnId, limit: number): Promise<readonly TurnRow[]>;
  /**
   * Reads the newest `limit` turns (at least one) up to the head in one request, with up to about `maxBytes` of
   * payloads. Undefined for a missing context. An engine that has all of this near at hand has no such method.
   */
  readLast?(context: ContextId, limit: number, maxBytes: number): Promise<LastTurns | undefined>;
  /** The ancestor of `turn` (or itself) at `depth`, in O(log n) record reads. */
  ancestorAt(turn: TurnId, depth: number): Promise<TurnRow | undefined>;
  /** The deepest turn that is an ancestor of both or one of the two. Undefined for separate trees. */
  commonAncestor(a: TurnId, b: TurnId): Promise<TurnRow | undefined>;
  /** Undefined when the turn does not exist or is sealed. */
  getOpenTurn(id: TurnId): Promise<OpenTurnRow | undefined>;
}

export interface ContextReads {
  getHead(id: ContextId): Promise<HeadRow | undefined>;
  getContext(id: ContextId): Promise<ContextRow | undefined>;
  /** The context that has this name. */
  findContext(name: string): Promise<ContextRow | undefined>;
  listContexts(query: ContextQuery): Promise<ContextList>;
}

/** The reads of what was laid over turns. */
export interface OverlayReads {
  /** All patches on these turns, by rising sequence number. */
  getPatches(turns: readonly TurnId[]): Promise<readonly PatchRow[]>;
  /** The file-system root of each of these turns that has one, by rising sequence number. */
  getFsRoots(turns: readonly TurnId[]): Promise<readonly FsRootRow[]>;
}

export interface LogReads {
  getLog(name: string): Promise<LogRow | undefined>;
  /** Up to `limit` lines from line `from` (the first is 0). Empty past the end. */
  readLog(name: string, from: number, limit: number): Promise<readonly string[]>;
  /**
   * Reads the same page of a log that `readLog` or `getLog` calls CORRUPT. A note of the damage stands in the place
   * of the lines that cannot be proved, and hides no other lines. Undefined when there is no such log.
   */
  salvageLog(name: string, from: number, limit: number): Promise<SalvagedLog | undefined>;
  /** Names that start with `prefix`, sorted, after `after`. */
  listLogs(prefix: string, limit: number, after?: string): Promise<readonly string[]>;
}

export interface DocReads {
  getDoc(name: string): Promise<DocRow | undefined>;
  listDocs(prefix: string, limit: number, after?: string): Promise<readonly string[]>;
}

export interface Engine
  extends ContentReads, TurnReads, ContextReads, OverlayReads, LogReads, DocReads {
  readonly capabilities: EngineCapabilities;
  /** The maintenance of the store. */
  readonly upkeep: Upkeep;
  /** Resolves once the whole batch would survive a power cut. Throws, and stores nothing, otherwise. */
  commit(batch: Batch): Promise<Committed>;

  /** The blob is durable when the promise resolves. Nothing refers to the blob yet. */
  putBlob(source: BlobSource): Promise<BlobStored>;
  /** The blob with this SHA-256 (64 hex digits), if it was put with one. */
  findBySha256(sha256: string): Promise<Hash | undefined>;
  /**
   * Hashes whose hex digits begin with `prefix`, sorted, after `after`. An engine that keeps a large blob as chunks
   * lists those, too: each is a blob.
   */
  listBlobs(prefix: string, limit: number, after?: Hash): Promise<readonly Hash[]>;

  /** Ids are handed out one after the other, so the tips say how far each kind of record reaches. */
  tips(): Promise<Tips>;
  /**
   * Reads many records at once, for callers that walk the store by number: one request to a remote store. One
   * damaged record makes the whole request CORRUPT.
   */
  getMany(wanted: Wanted): Promise<Found>;

  /**
   * Calls back, in commit order, for every commit from now on. Call the result to stop. An engine that can lose its
   * connection to the store, as over a network, calls `missed` once it is connected again. Then commits went by
   * unheard, and reads from then on see them. A listener that keeps a position must catch up by reading.
   */
  subscribe(listener: (change: Change) => void, missed?: () => void): () => void;

  stats(): Promise<EngineStats>;
  /** Makes the next opening fast; never needed for safety. */
  checkpoint(): Promise<void>;
  /** Rebuilds every accelerator from the truth. */
  reindex(progress?: Progress): Promise<void>;
  /** Finishes what was sent, then releases the store. Idempotent. */
  close(): Promise<void>;
}
