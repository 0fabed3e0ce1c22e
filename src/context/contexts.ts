import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type { EraseReport } from '../engine/upkeep.ts';
import type { EncodingName } from '../format/encoding.ts';
import type { Context } from './context.ts';
import type { OpenTurn } from './streams/open-turn.ts';
import type { Patch } from './patches/patch.ts';
import type { Pin, PinOptions } from './pins/pin.ts';
import type { Turn } from './turns/turn.ts';

// What a program can do with turns and contexts. Every argument is checked: a wrong one is INVALID
// and named, one over its limit is TOO_LARGE, and nothing is written in either case.
// What a call returned after writing survives a power cut.

export interface ContextDetails {
  /** At most 1,024 characters. */
  readonly title?: string;
  /** What sort of thread this is, for listings. At most 128 characters. */
  readonly kind?: string;
  /** At most 64 of at most 128 characters. */
  readonly labels?: readonly string[];
  /** Any JSON of at most 64 KiB. */
  readonly meta?: unknown;
}

export interface ForkOptions extends ContextDetails {
  /** The same key with the same turn and details gives the first context again, as it is then. */
  readonly idempotencyKey?: string;
}

export interface NewContext extends ForkOptions {
  /** Start at this turn: a fork. Nothing is copied. */
  readonly base?: TurnId;
}

/** Fields given replace those that are there; null removes one; the rest stay. */
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
  /** From the page before. */
  readonly cursor?: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** There is more: pass it to the next call. */
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
  /** The head must be this turn (0: the context must be empty), else HEAD_MOVED. */
  readonly expectedHead?: TurnId;
}

export interface AppendOptions extends OpenTurnOptions {
  /** The same key with the same turns gives the first result again, whenever it is sent again. */
  readonly idempotencyKey?: string;
}

export interface ReadOptions {
  /** Default true. False reads records alone, a number only payloads of at most so many bytes. */
  readonly payload?: boolean | number;
  /** Patches in force: the newest (default), none, or those up to a sequence number. */
  readonly as?: 'latest' | 'original' | number;
  /**
   * Payload bytes a page holds at most, default 64 MiB; one turn always fits. For `chain` and `follow`,
   * which give every turn: the bytes they read ahead, default 8 MiB.
   */
  readonly maxBytes?: number;
}

export interface TurnPage {
  /** From older to newer. */
  readonly turns: readonly Turn[];
  /** Older turns exist: pass it to `before`. Not set by `range`. */
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
  /** The turn's newest patch must be this one (0: none), else HEAD_MOVED. */
  readonly expectedSeq?: number;
}

export interface PatchOptions extends TombstoneOptions {
  /** Default as for a new turn. */
  readonly encoding?: EncodingName;
}

export interface FollowOptions extends ReadOptions {
  /** Begin after this turn instead of at the root. */
  readonly after?: TurnId;
  /** Ends the iteration; it then returns, it does not throw. */
  readonly signal?: AbortSignal;
  /** Also yield a turn when it is opened; it comes again once sealed. See `followOpen`. */
  readonly openTurns?: boolean;
  /** Called before each page of turns while more than a page is yet to come, with how many that is. */
  readonly onBehind?: (turns: number) => void;
}

export interface EraseOptions {
  /** Why; stays readable in place of the payload. At most 4 KiB. */
  readonly reason: string;
  /** Erase it also from the other turns that use the same bytes. Default false. */
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
  /** A new context whose head is `turn`. Constant time, nothing is copied. */
  fork(turn: TurnId, options?: ForkOptions): Promise<Context>;
  get(id: ContextId): Promise<Context | undefined>;
  /** Most recently used first. */
  list(options?: ListOptions): Promise<Page<Context>>;
  update(id: ContextId, change: ContextUpdate): Promise<Context>;
  /**
   * The context goes. Turns that a fork or a pin leads to stay; the others go with the next collection
   * of garbage, and read as missing then.
   */
  remove(id: ContextId): Promise<void>;

  append(id: ContextId, turn: NewTurn, options?: AppendOptions): Promise<Turn>;
  /** All of them or none, as one chain. `parent` and `expectedHead` are about the first. */
  appendBatch(id: ContextId, turns: readonly NewTurn[], options?: AppendOptions): Promise<Turn[]>;

  /** The newest `n` turns up to the head; `n` is at most 10,000 here and in `before`. */
  last(id: ContextId, n: number, options?: ReadOptions): Promise<TurnPage>;
  /** The `n` turns before `turn`, which leads to the head or was appended to this context. */
  before(id: ContextId, turn: TurnId, n: number, options?: ReadOptions): Promise<TurnPage>;
  /** Turns with `fromDepth <= depth < toDepth` on the way to the head. */
  range(
    id: ContextId,
    fromDepth: number,
    toDepth: number,
    options?: ReadOptions,
  ): Promise<TurnPage>;
  /** Every turn from the root to `turn`, in bounded memory however long it is. */
  chain(turn: TurnId, options?: ReadOptions): AsyncIterable<Turn>;
  turn(turn: TurnId, options?: ReadOptions): Promise<Turn | undefined>;
  diff(a: TurnId, b: TurnId): Promise<TurnDiff>;

  /** A turn to stream into. It becomes the head when sealed; until then the context takes no other. */
  open(id: ContextId, turn: NewTurnHeader, options?: OpenTurnOptions): Promise<OpenTurn>;
  /** A handle on a turn that is open already, going on after its last acknowledged byte. */
  resume(turn: TurnId): Promise<OpenTurn>;

  /** Lays a new payload over a sealed turn. */
  patch(turn: TurnId, payload: unknown, options?: PatchOptions): Promise<Patch>;
  /** Hides the payload of a sealed turn. A later patch shows a payload again. */
  tombstone(turn: TurnId, reason: string, options?: TombstoneOptions): Promise<Patch>;
  /** All patches on a turn, oldest first. */
  patches(turn: TurnId): Promise<Patch[]>;
  /**
   * Removes the bytes of a sealed turn, and of its patches, from the store for good. A tombstone with
   * the reason stays, and the hash. When other turns use the same bytes it lists them and does nothing,
   * unless told `everywhere`.
   */
  erase(turn: TurnId, options: EraseOptions): Promise<TurnEraseReport>;

  /**
   * Says what the file system was like at a turn: `root` is the hash of a stored tree, a blob that names
   * the blobs of files and of other trees. All of them stay as long as the turn does. The last one counts.
   */
  attach(turn: TurnId, root: Hash): Promise<void>;
  /** The root that the turn itself was given; those of the turns before it do not count. */
  fsRoot(turn: TurnId): Promise<Hash | undefined>;

  /** The turn and all before it stay when garbage is collected, even if no context leads to it. */
  pin(turn: TurnId, options?: PinOptions): Promise<void>;
  /** NOT_FOUND when it is not pinned. */
  unpin(turn: TurnId): Promise<void>;
  /** By rising turn id. */
  pins(): Promise<Pin[]>;

  /**
   * What is there, then what comes, without gap and without repetition, until the signal aborts, the
   * context is removed or the store closes. When the head moves to another branch, the turns after
   * the common ancestor follow: a turn whose parent is not the one yielded before says so. Branches that the
   * head has left again while a reader was more than 10,000 moves behind, or was cut off, may be left out.
   */
  follow(id: ContextId, options?: FollowOptions): AsyncIterable<Turn>;
  /** The bytes of an open turn: what is there, then what comes, until it is sealed. */
  followOpen(turn: TurnId, options?: { readonly signal?: AbortSignal }): AsyncIterable<Uint8Array>;
}
