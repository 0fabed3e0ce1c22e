import type { ShownFields, Jsonable } from '../base/jsonable.ts';
import type { ContextIdLike, Hash, TurnId, TurnIdLike } from '../base/brand.ts';
import type { HeadRow } from '../engine/rows.ts';
import type { EraseReport } from '../engine/upkeep.ts';
import type { MetaConditions } from './meta-condition.ts';
import type { PayloadEncoding } from './payloads/codecs.ts';
import type { Context } from './context.ts';
import type { Turn } from './turn.ts';

// The operations on turns and contexts. Every argument is checked: a wrong one is INVALID and named, one over its limit
// is TOO_LARGE, and nothing is written in either case. A result that a writing call returned survives a power cut.

export interface ContextDetails {
  /** At most 1,024 characters. */
  readonly title?: string;
  /** The sort of thread, for listings. At most 128 characters. */
  readonly kind?: string;
  /** At most 64 of at most 128 characters. */
  readonly labels?: readonly string[];
  /** Any JSON of at most 64 KiB. */
  readonly meta?: unknown;
}

export interface ForkOptions extends ContextDetails {
  /** The caller's own name for the context: any text of 1 to 512 bytes in UTF-8. EXISTS if a context has it. */
  readonly name?: string;
  /** The same key with the same turn and details returns the first context again, in its current state. */
  readonly idempotencyKey?: string;
}

export interface NewContext extends ForkOptions {
  /** Start at this turn: a fork. Nothing is copied. */
  readonly base?: TurnIdLike;
}

/** The start of a context that `getOrCreate` makes. */
export type ContextDefaults = Omit<NewContext, 'name' | 'idempotencyKey'>;

/** Fields given replace the existing ones; null removes a field; the rest stay. */
export interface ContextUpdate {
  readonly title?: string | null;
  readonly kind?: string | null;
  readonly labels?: readonly string[] | null;
  readonly meta?: unknown;
}

export interface ListOptions {
  readonly label?: string;
  readonly kind?: string;
  /** Only contexts whose name begins with this text. */
  readonly namePrefix?: string;
  /**
   * Only contexts whose `meta` is an object with these fields, such as `{ env: 'prod', user: { prefix: 'ann' } }`. Each
   * names a field at the top. At most 8.
   */
  readonly meta?: MetaConditions;
  /** Only contexts created in this range. */
  readonly created?: GivenRange;
  /** Only contexts with their last append, seal or creation in this range. */
  readonly updated?: GivenRange;
  /** Also count the contexts on all pages: `total`. */
  readonly count?: boolean;
  /** Default 50, at most 10,000. */
  readonly limit?: number;
  /** The cursor of the page before. */
  readonly cursor?: string;
}

/** Times as dates or in milliseconds since 1970. */
export interface GivenRange {
  /** From this time on. */
  readonly since?: number | Date;
  /** Before this time. */
  readonly until?: number | Date;
}

export interface ContextPage extends Page<Context> {
  /** The number of contexts on all pages, if it was asked for. */
  readonly total?: number;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Present when there is more: pass it to the next call. */
  readonly cursor?: string;
}

export interface NewTurnHeader {
  /** The declared type, such as 'chat.message': 1 to 1,024 bytes without control characters. */
  readonly type: string;
  /** Version of that type, default 1. */
  readonly version?: number;
  /** Default: 'bytes' for a Uint8Array, else 'json'; for an open turn 'text'. */
  readonly encoding?: PayloadEncoding;
  /** The turn's file-system root, the hash of a stored tree; see `attach`. */
  readonly fsRoot?: Hash;
}

export interface NewTurn extends NewTurnHeader {
  /**
   * A value to encode, or a Uint8Array that is in the encoding already. Equal values are stored once, so the keys of
   * objects are sorted: they come back in that order, and not in the order of the caller.
   */
  readonly payload: unknown;
}

/** A turn of a batch. Either all turns of the batch have a key of their own, or none. */
export interface BatchTurn extends NewTurn {
  /**
   * The key of this turn alone, in place of one for the batch. A turn whose key is known is not appended again: the
   * result has the first one. A known key with another turn is IDEMPOTENCY_CONFLICT, and nothing is appended.
   */
  readonly idempotencyKey?: string;
}

export interface MoveOptions {
  /** The head must be this turn (0: the context must be empty), else the call fails with HEAD_MOVED. */
  readonly expectedHead?: TurnIdLike;
  /**
   * Keeps what the head leaves as a branch: makes a context of these details with `expectedHead`, which must be given,
   * in the same commit. So either both happen or nothing. A context that is empty leaves nothing.
   */
  readonly keepHead?: Omit<ForkOptions, 'idempotencyKey'>;
}

export interface OpenTurnOptions {
  /** Default: the head. Another turn rewinds the context to it. 0: the turn is a new root. */
  readonly parent?: TurnIdLike;
  /** The head must be this turn (0: the context must be empty), else the call fails with HEAD_MOVED. */
  readonly expectedHead?: TurnIdLike;
}

export interface AppendOptions extends OpenTurnOptions, MoveOptions {
  /** The same key with the same turns returns the first result again, whenever it is sent again. */
  readonly idempotencyKey?: string;
}

export interface ReadOptions {
  /** Default true. False reads records alone, a number only payloads of at most that many bytes. */
  readonly payload?: boolean | number;
  /** Patches in force: the newest (default), none, or those up to a sequence number. */
  readonly as?: 'latest' | 'original' | number;
  /**
   * The largest number of payload bytes on a page, default 64 MiB; one turn always fits. For `chain` and `follow`,
   * which give every turn: the bytes they read ahead, default 8 MiB.
   */
  readonly maxBytes?: number;
}

export interface TurnPage {
  /** Sorted from older to newer. */
  readonly turns: readonly Turn[];
  /** Present when older turns exist: pass it to `before`. Not set by `range`. */
  readonly cursor?: TurnId;
  /** Set by `range` when the page was cut: the depth to go on from. */
  readonly nextDepth?: number;
  readonly headDepth: number;
}

export interface TurnDiff {
  /** The deepest turn both have in common; absent for separate trees. */
  readonly base?: TurnId;
  /** The turns after the base on the way to `a` and to `b`, from older to newer. */
  readonly left: readonly TurnId[];
  readonly right: readonly TurnId[];
}

export interface TombstoneOptions {
  /** The turn's newest patch must be this one (0: none), else the call fails with HEAD_MOVED. */
  readonly expectedSeq?: number;
}

export interface PatchOptions extends TombstoneOptions {
  /** Default as for a new turn. */
  readonly encoding?: PayloadEncoding;
}

export interface FollowOptions extends ReadOptions {
  /** Begin after this turn instead of at the root. */
  readonly after?: TurnIdLike;
  /** Ends the iteration. The iterator then returns, and does not throw. */
  readonly signal?: AbortSignal;
  /** Also yield a turn when it is opened; the turn comes again once sealed. See `followOpen`. */
  readonly openTurns?: boolean;
  /** Called before each page of turns while more than a page is yet to come, with the number of these turns. */
  readonly onBehind?: (turns: number) => void;
}

/**
 * Tells a follower that the head was moved without a new turn, and that the last turns it was given do not lead to the
 * head any more. The turns from here to the head follow.
 */
export interface MovedHead {
  /** The last of the turns given that still leads to the head; 0: none does. */
  readonly backTo: TurnId;
  /** The depth of that turn; 0 also for none. */
  readonly depth: number;
  toJSON(): { backTo: string; depth: number };
}

export interface EraseOptions {
  /** The reason, which stays readable in place of the payload. At most 4 KiB. */
  readonly reason: string;
  /** Erase the payload also from the other turns that use the same bytes. Default false. */
  readonly everywhere?: boolean;
}

export interface TurnEraseReport {
  readonly turn: TurnId;
  /** False when other turns use some of the bytes: then nothing was changed. */
  readonly erased: boolean;
  /** The payload and those of the patches, each with the turns that use it. */
  readonly blobs: readonly EraseReport[];
}

export interface Contexts {
  create(options?: NewContext): Promise<Context>;
  /** Makes a new context whose head is `turn`. Constant time, nothing is copied. */
  fork(turn: TurnIdLike, options?: ForkOptions): Promise<Context>;
  get(id: ContextIdLike): Promise<Context | undefined>;
  /**
   * Returns the context with this name. If there is none, makes one with the defaults. Any number of processes may
   * ask at once for a new name: all of them get the same context. The defaults of the others are not used.
   */
  getOrCreate(name: string, defaults?: ContextDefaults): Promise<Context>;
  byName(name: string): Promise<Context | undefined>;
  /**
   * Returns the heads of at most 10,000 contexts in one call, by rising id. Contexts that do not exist are left out. For
   * readers that know what they have read, and ask where there is more.
   */
  heads(ids: readonly ContextIdLike[]): Promise<Jsonable<HeadRow>[]>;
  /** Gives the context another name, or none. The old name is free from then on. EXISTS if a context has the name. */
  rename(id: ContextIdLike, name: string | null): Promise<Context>;
  /**
   * Moves the head to any sealed turn, or to none (0), without a new turn: back, forward, or to another branch. The
   * turns that it leaves can be moved to again: garbage collection spares the last 16 heads that a context has left
   * for 30 days, with all before them. LOCKED while a turn is open in the context.
   */
  moveHead(id: ContextIdLike, head: TurnIdLike, options?: MoveOptions): Promise<Context>;
  /** Most recently used first. */
  list(options?: ListOptions): Promise<ContextPage>;
  update(id: ContextIdLike, change: ContextUpdate): Promise<Context>;
  /**
   * Removes the context, and frees its name. Turns that a fork or a pin leads to stay. The others go with the next
   * garbage collection, and then read as missing.
   */
  remove(id: ContextIdLike): Promise<void>;

  append(id: ContextIdLike, turn: NewTurn, options?: AppendOptions): Promise<Turn>;
  /**
   * Appends all turns or none, as one chain. `parent` and `expectedHead` are about the first. Of turns with keys of
   * their own, those that are not there yet are appended, and `expectedHead` is about the first of these.
   */
  appendBatch(
    id: ContextIdLike,
    turns: readonly BatchTurn[],
    options?: AppendOptions,
  ): Promise<Turn[]>;

  /** Returns the newest `n` turns up to the head; `n` is 50 by default and at most 10,000 here and in `before`. */
  last(id: ContextIdLike, n?: number, options?: ReadOptions): Promise<Jsonable<TurnPage>>;
  /** Returns the `n` turns before `turn`, which leads to the head or was appended to this context. */
  before(
    id: ContextIdLike,
    turn: TurnIdLike,
    n?: number,
    options?: ReadOptions,
  ): Promise<Jsonable<TurnPage>>;
  /** Returns turns with `fromDepth <= depth < toDepth` on the way to the head. */
  range(
    id: ContextIdLike,
    fromDepth: number,
    toDepth: number,
    options?: ReadOptions,
  ): Promise<Jsonable<TurnPage>>;
  /** Yields every turn from the root to `turn`, in bounded memory however long the chain is. */
  chain(turn: TurnIdLike, options?: ReadOptions): AsyncIterable<Turn>;
  turn(turn: TurnIdLike, options?: ReadOptions): Promise<Turn | undefined>;
  diff(a: TurnIdLike, b: TurnIdLike): Promise<Jsonable<TurnDiff>>;

  /** Opens a turn to stream into. The turn becomes the head when sealed; until then the context takes no other. */
  open(id: ContextIdLike, turn: NewTurnHeader, options?: OpenTurnOptions): Promise<OpenTurn>;
  /** Returns a handle on a turn that is open already, going on after its last acknowledged byte. */
  resume(turn: TurnIdLike): Promise<OpenTurn>;
  /**
   * Ends an open turn at whatever length it has, whichever process writes it and however fast. The turn keeps every
   * acknowledged byte and the reason, at most 4 KiB. The next write of its writer is INVALID, and so is this call when
   * the turn has ended already.
   */
  abort(turn: TurnIdLike, reason: string): Promise<Turn>;

  /** Lays a new payload over a sealed turn. */
  patch(turn: TurnIdLike, payload: unknown, options?: PatchOptions): Promise<Patch>;
  /** Hides the payload of a sealed turn. A later patch shows a payload again. */
  tombstone(turn: TurnIdLike, reason: string, options?: TombstoneOptions): Promise<Patch>;
  /** Returns all patches on a turn, oldest first. */
  patches(turn: TurnIdLike): Promise<Patch[]>;
  /**
   * Removes the bytes of a sealed turn, and of its patches, from the store for good. A tombstone with the reason stays,
   * and the hash. When other turns use the same bytes, this call lists them and does nothing, unless told `everywhere`.
   */
  erase(turn: TurnIdLike, options: EraseOptions): Promise<Jsonable<TurnEraseReport>>;

  /**
   * Records the state of the file system at a turn: `root` is the hash of a stored tree, a blob that names the blobs of
   * files and of other trees. All of them stay as long as the turn does. The last root counts.
   */
  attach(turn: TurnIdLike, root: Hash): Promise<void>;
  /** Returns the root that the turn itself was given; roots of the turns before it do not count. */
  fsRoot(turn: TurnIdLike): Promise<Hash | undefined>;

  /** Keeps the turn and all before it when garbage is collected, even if no context leads to it. */
  pin(turn: TurnIdLike, options?: PinOptions): Promise<void>;
  /** Throws NOT_FOUND when the turn is not pinned. */
  unpin(turn: TurnIdLike): Promise<void>;
  /** Sorted by rising turn id. */
  pins(): Promise<Jsonable<Pin>[]>;

  /**
   * Yields existing turns, then new ones, without gap and without repetition, until the signal aborts, the context is
   * removed or the store closes. When the head goes to another branch, the turns after the common ancestor follow: the
   * parent of the first of them is not the turn yielded before. So a turn comes again only if the head comes back to
   * it. A head that is moved back yields no turn; with `moves: true` a `MovedHead` tells of it. Branches that the head
   * has left again while a reader was more than 10,000 moves behind, or was cut off, may be left out.
   */
  follow(
    id: ContextIdLike,
    options: FollowOptions & { readonly moves: true },
  ): AsyncIterable<Turn | MovedHead>;
  follow(id: ContextIdLike, options?: FollowOptions): AsyncIterable<Turn>;
  /**
   * Yields the bytes of an open turn, at most 32 KiB at a time: existing bytes, then new ones, until it is sealed. A
   * reader that takes its time holds one piece in memory.
   */
  followOpen(
    turn: TurnIdLike,
    options?: {
      /** Begin after this many bytes. Default 0. */
      readonly after?: number;
      readonly signal?: AbortSignal;
    },
  ): AsyncIterable<Uint8Array>;
}

/** A turn being streamed. A handle whose write failed stays failed; `resume` gives a fresh one. */
export interface OpenTurn {
  readonly id: TurnId;
  /** The number of bytes that would survive a power cut. */
  readonly acknowledgedBytes: number;
  /**
   * Resolves when the turn can take more: at once while less than 256 KiB wait to become durable, else when these bytes
   * are durable. Writes gather into few commits. A failed commit rejects the writes after it, `flush` and `seal`.
   */
  write(piece: string | Uint8Array): Promise<void>;
  /** Resolves when everything written so far would survive a power cut. */
  flush(): Promise<void>;
  /** Makes everything written the payload, and the turn the head of its context. */
  seal(): Promise<Turn>;
  /** Sends what was written and ends the turn as `contexts.abort` does. */
  abort(reason: string): Promise<Turn>;
  toJSON(): { id: string; acknowledgedBytes: number };
}

/** An overlay on a sealed turn. Reads take the newest one unless told otherwise. */
export interface Patch {
  /** The number rises with every patch over the whole store; pass it as `as` to read as of this patch. */
  readonly seq: number;
  readonly turn: TurnId;
  readonly tombstone: boolean;
  readonly encoding: PayloadEncoding;
  /** The new payload; for a tombstone the reason as text. Zeros when it was erased. */
  readonly payloadHash: Hash;
  readonly size: number;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  toJSON(): PatchJson;
}

/** Ids as decimal strings. */
export type PatchJson = ShownFields<Patch>;

/** A turn that stays, with everything before it, whether or not a context leads to it. */
export interface Pin {
  readonly turn: TurnId;
  readonly reason?: string;
}

export interface PinOptions {
  /** The reason; at most 4 KiB. */
  readonly reason?: string;
}
