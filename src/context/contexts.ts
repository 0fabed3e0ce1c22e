import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type { EraseReport } from '../engine/upkeep.ts';
import type { EncodingName } from '../format/turn-record.ts';
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
  /** The same key with the same turn and details returns the first context again, in its current state. */
  readonly idempotencyKey?: string;
}

export interface NewContext extends ForkOptions {
  /** Start at this turn: a fork. Nothing is copied. */
  readonly base?: TurnId;
}

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
  /** Default 50, at most 10,000. */
  readonly limit?: number;
  /** The cursor of the page before. */
  readonly cursor?: string;
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
  readonly encoding?: EncodingName;
  /** The turn's file-system root, the hash of a stored tree; see `attach`. */
  readonly fsRoot?: Hash;
}

export interface NewTurn extends NewTurnHeader {
  /** A value to encode, or a Uint8Array that is in the encoding already. */
  readonly payload: unknown;
}

export interface OpenTurnOptions {
  /** Default: the head. Another turn rewinds the context to it. */
  readonly parent?: TurnId;
  /** The head must be this turn (0: the context must be empty), else the call fails with HEAD_MOVED. */
  readonly expectedHead?: TurnId;
}

export interface AppendOptions extends OpenTurnOptions {
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
  readonly encoding?: EncodingName;
}

export interface FollowOptions extends ReadOptions {
  /** Begin after this turn instead of at the root. */
  readonly after?: TurnId;
  /** Ends the iteration. The iterator then returns, and does not throw. */
  readonly signal?: AbortSignal;
  /** Also yield a turn when it is opened; the turn comes again once sealed. See `followOpen`. */
  readonly openTurns?: boolean;
  /** Called before each page of turns while more than a page is yet to come, with the number of these turns. */
  readonly onBehind?: (turns: number) => void;
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
  fork(turn: TurnId, options?: ForkOptions): Promise<Context>;
  get(id: ContextId): Promise<Context | undefined>;
  /** Most recently used first. */
  list(options?: ListOptions): Promise<Page<Context>>;
  update(id: ContextId, change: ContextUpdate): Promise<Context>;
  /**
   * Removes the context. Turns that a fork or a pin leads to stay. The others go with the next garbage collection, and
   * then read as missing.
   */
  remove(id: ContextId): Promise<void>;

  append(id: ContextId, turn: NewTurn, options?: AppendOptions): Promise<Turn>;
  /** Appends all turns or none, as one chain. `parent` and `expectedHead` are about the first. */
  appendBatch(id: ContextId, turns: readonly NewTurn[], options?: AppendOptions): Promise<Turn[]>;

  /** Returns the newest `n` turns up to the head; `n` is at most 10,000 here and in `before`. */
  last(id: ContextId, n: number, options?: ReadOptions): Promise<TurnPage>;
  /** Returns the `n` turns before `turn`, which leads to the head or was appended to this context. */
  before(id: ContextId, turn: TurnId, n: number, options?: ReadOptions): Promise<TurnPage>;
  /** Returns turns with `fromDepth <= depth < toDepth` on the way to the head. */
  range(
    id: ContextId,
    fromDepth: number,
    toDepth: number,
    options?: ReadOptions,
  ): Promise<TurnPage>;
  /** Yields every turn from the root to `turn`, in bounded memory however long the chain is. */
  chain(turn: TurnId, options?: ReadOptions): AsyncIterable<Turn>;
  turn(turn: TurnId, options?: ReadOptions): Promise<Turn | undefined>;
  diff(a: TurnId, b: TurnId): Promise<TurnDiff>;

  /** Opens a turn to stream into. The turn becomes the head when sealed; until then the context takes no other. */
  open(id: ContextId, turn: NewTurnHeader, options?: OpenTurnOptions): Promise<OpenTurn>;
  /** Returns a handle on a turn that is open already, going on after its last acknowledged byte. */
  resume(turn: TurnId): Promise<OpenTurn>;

  /** Lays a new payload over a sealed turn. */
  patch(turn: TurnId, payload: unknown, options?: PatchOptions): Promise<Patch>;
  /** Hides the payload of a sealed turn. A later patch shows a payload again. */
  tombstone(turn: TurnId, reason: string, options?: TombstoneOptions): Promise<Patch>;
  /** Returns all patches on a turn, oldest first. */
  patches(turn: TurnId): Promise<Patch[]>;
  /**
   * Removes the bytes of a sealed turn, and of its patches, from the store for good. A tombstone with the reason stays,
   * and the hash. When other turns use the same bytes, this call lists them and does nothing, unless told `everywhere`.
   */
  erase(turn: TurnId, options: EraseOptions): Promise<TurnEraseReport>;

  /**
   * Records the state of the file system at a turn: `root` is the hash of a stored tree, a blob that names the blobs of
   * files and of other trees. All of them stay as long as the turn does. The last root counts.
   */
  attach(turn: TurnId, root: Hash): Promise<void>;
  /** Returns the root that the turn itself was given; roots of the turns before it do not count. */
  fsRoot(turn: TurnId): Promise<Hash | undefined>;

  /** Keeps the turn and all before it when garbage is collected, even if no context leads to it. */
  pin(turn: TurnId, options?: PinOptions): Promise<void>;
  /** Throws NOT_FOUND when the turn is not pinned. */
  unpin(turn: TurnId): Promise<void>;
  /** Sorted by rising turn id. */
  pins(): Promise<Pin[]>;

  /**
   * Yields existing turns, then new ones, without gap and without repetition, until the signal aborts, the context is
   * removed or the store closes. When the head moves to another branch, the turns after the common ancestor follow: the
   * parent of the first of them is not the turn yielded before. Branches that the head has left again while a reader
   * was more than 10,000 moves behind, or was cut off, may be left out.
   */
  follow(id: ContextId, options?: FollowOptions): AsyncIterable<Turn>;
  /** Yields the bytes of an open turn: existing bytes, then new ones, until the turn is sealed. */
  followOpen(
    turn: TurnId,
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
  /** Resolves when the bytes are durable. Callers need not wait for each write: writes gather into few commits. */
  write(piece: string | Uint8Array): Promise<void>;
  /** Makes everything written the payload, and the turn the head of its context. */
  seal(): Promise<Turn>;
  /** Like `seal`, but the turn records that it is incomplete, with the reason. */
  abort(reason: string): Promise<Turn>;
}

/** An overlay on a sealed turn. Reads take the newest one unless told otherwise. */
export interface Patch {
  /** The number rises with every patch over the whole store; pass it as `as` to read as of this patch. */
  readonly seq: number;
  readonly turn: TurnId;
  readonly tombstone: boolean;
  readonly encoding: EncodingName | number;
  /** The new payload; for a tombstone the reason as text. Zeros when it was erased. */
  readonly payloadHash: Hash;
  readonly size: number;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  toJSON(): PatchJson;
}

/** Ids as decimal strings. */
export interface PatchJson {
  seq: number;
  turn: string;
  tombstone: boolean;
  encoding: EncodingName | number;
  payloadHash: Hash;
  size: number;
  createdAt: number;
}

/** A turn that stays, with everything before it, whether or not a context leads to it. */
export interface Pin {
  readonly turn: TurnId;
  readonly reason?: string;
}

export interface PinOptions {
  /** The reason; at most 4 KiB. */
  readonly reason?: string;
}
