import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type {
  ContextMeta,
  ContextRow,
  DocRow,
  FsRootRow,
  HeadRow,
  LogRow,
  PatchRow,
  TurnRow,
} from './rows.ts';

// A batch says what shall become true, and under which conditions. The engine takes the changes in the order of the
// fields below, each list from first to last. A later change sees the earlier ones: a turn can go to a context
// created in the same batch, and a seal can name a blob put in the same batch. If one condition fails, the commit
// throws and nothing of the batch is stored.

/** Trusts `hash` to be the BLAKE3-256 of `bytes`. Storing bytes that are already there is free. */
export interface BlobPut {
  readonly hash: Hash;
  readonly bytes: Uint8Array;
  /** The SHA-256, 64 hex digits, by which the blob can also be found. */
  readonly sha256?: string;
  /** `bytes` as a zstd frame, where the caller has one. It is trusted, too, and must not change before the commit. */
  readonly zstd?: Uint8Array | undefined;
}

/** A context that exists, or the nth one that this batch creates. */
export type ContextRef = ContextId | { readonly created: number };

export type UnnamedMeta = Omit<ContextMeta, 'name'>;

export type ContextChange =
  | {
      readonly do: 'create';
      readonly base?: TurnId;
      /** A name that another context has is EXISTS. */
      readonly meta?: ContextMeta;
      /**
       * True to get the context that has the name of `meta` already, as it is now, whatever else `meta` says. Then
       * nothing is stored. For a batch that holds nothing else.
       */
      readonly getNamed?: true;
      /**
       * The scope is (base, key), for a batch that holds nothing else. A known key with the same metadata returns
       * its context as it is now and stores nothing. With other metadata it is IDEMPOTENCY_CONFLICT. A key lives as
       * long as its context.
       */
      readonly key?: string;
    }
  /** Replaces the metadata as a whole, except for the name. */
  | { readonly do: 'describe'; readonly context: ContextId; readonly meta: UnnamedMeta }
  /** Without a name, the context has none from now on. A name that another context has is EXISTS. */
  | { readonly do: 'rename'; readonly context: ContextId; readonly name?: string }
  /**
   * Makes any sealed turn the head, or none (`NO_TURN`). The time of the last activity stays. LOCKED while a turn is
   * open in the context.
   */
  | {
      readonly do: 'move';
      readonly context: ContextId;
      readonly head: TurnId;
      /** The head must be this turn (`NO_TURN`: the context must be empty), else HEAD_MOVED. */
      readonly expectedHead?: TurnId;
    }
  | { readonly do: 'remove'; readonly context: ContextId };

interface TurnBase {
  readonly context: ContextRef;
  /** Default: the head as it is when this change is reached. `NO_TURN`: the turn is a new root. */
  readonly parent?: TurnId;
  /** The head must be this turn (`NO_TURN`: the context must be empty), else HEAD_MOVED. */
  readonly expectedHead?: TurnId;
  readonly type: string;
  readonly version: number;
  readonly encoding: number;
  /** The turn's file-system root: a tree that is already stored or put by this batch, else NOT_FOUND. */
  readonly fsRoot?: Hash;
}

/** The turn becomes the head of its context. `payload` is already stored or put by this batch, else NOT_FOUND. */
export interface TurnAppend extends TurnBase {
  readonly payload: Hash;
  readonly size: number;
  /**
   * The turn's own key, in the scope (context, key) of `Idempotency`: the key of a batch of one turn is the same. Then
   * every turn of the batch has one, each of a context that exists, and the batch has none.
   *
   * A turn whose key is known is not stored again: the result has the first one in its place. The others go onto the
   * head, as if each turn came in a batch of its own. If all keys are known, nothing of the batch is stored. A known
   * key with another turn is IDEMPOTENCY_CONFLICT. The conditions of a turn that is there are not looked at, but for
   * `expectedHead`: it counts for the next turn of the batch that is new.
   */
  readonly key?: string;
}

/** The turn gets its id now and becomes the head when sealed. A context has at most one open turn (LOCKED). */
export type TurnOpen = TurnBase;

/** Adds bytes to an open turn. A delta that repeats bytes already there is a retry and changes nothing. */
export interface TurnDelta {
  readonly turn: TurnId;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/**
 * With a `payload`, a seal that is sent again gets the same answer. Without one, the payload is all that the turn holds
 * at its place in the order of commits: a writer cannot be too fast for it. A batch has at most one such seal. It is
 * INVALID when the turn has ended already.
 */
export type TurnSeal = {
  readonly turn: TurnId;
  readonly outcome: 'complete' | 'aborted' | 'interrupted';
  /** The number of bytes that the open turn must hold, else HEAD_MOVED with the turn as `context`. */
  readonly expectedBytes?: number;
} & (
  | { readonly payload: Hash; readonly size: number }
  | { readonly payload?: undefined; readonly size?: undefined }
);

export interface PatchAppend {
  readonly turn: TurnId;
  readonly tombstone: boolean;
  readonly encoding: number;
  readonly payload: Hash;
  readonly size: number;
  /** The turn's newest patch must have this sequence number (0: none), else HEAD_MOVED. */
  readonly expectedSeq?: number;
}

/** Gives a turn, open or sealed, a file-system root. The last one counts. */
export interface FsRootAttach {
  readonly turn: TurnId;
  readonly root: Hash;
}

/**
 * Logs and published documents are also plain files of their names. A name below another such name is INVALID. A
 * log and a published document of the same name are INVALID, too.
 */
export type LogChange =
  /** Lines are JSON texts without a line break. `expectedLines` is a compare-and-set on the length. */
  | {
      readonly do: 'append';
      readonly name: string;
      readonly lines: readonly string[];
      readonly expectedLines?: number;
    }
  | { readonly do: 'remove'; readonly name: string };

export interface DocChange {
  readonly name: string;
  /** JSON text; undefined removes the document. */
  readonly content: string | undefined;
  /** 0: must not exist. On mismatch HEAD_MOVED, with the document's name as `context`. */
  readonly expectedVersion?: number;
  /** True to also keep the document as a plain file of that name, for people and tools that watch files. */
  readonly publish?: boolean;
}

/**
 * The scope is (context, key). A known key with the same turns returns the first result again and stores nothing of
 * the batch. With other turns it is IDEMPOTENCY_CONFLICT. All turns of a batch with a key go to that context.
 */
export interface Idempotency {
  readonly context: ContextId;
  readonly key: string;
}

export interface Batch {
  readonly idempotency?: Idempotency;
  readonly blobs?: readonly BlobPut[];
  readonly contexts?: readonly ContextChange[];
  readonly turns?: readonly TurnAppend[];
  readonly opens?: readonly TurnOpen[];
  readonly deltas?: readonly TurnDelta[];
  readonly seals?: readonly TurnSeal[];
  readonly patches?: readonly PatchAppend[];
  readonly fsRoots?: readonly FsRootAttach[];
  readonly logs?: readonly LogChange[];
  readonly docs?: readonly DocChange[];
}

/** The result of a batch, each list in the order of the batch. */
export interface Committed {
  /** Rises with every commit that changed something. Commits are acknowledged in this order. */
  readonly seq: number;
  /**
   * True when an idempotency key was known, or those of all turns: then the turns or the context are those of the
   * first commit. Also true when a context was there by its name.
   */
  readonly replayed: boolean;
  /** Created, described, renamed and moved contexts. */
  readonly contexts: readonly ContextRow[];
  readonly turns: readonly TurnRow[];
  readonly opened: readonly TurnRow[];
  readonly sealed: readonly TurnRow[];
  readonly patches: readonly PatchRow[];
  /** The roots that turns were appended with, then the roots that were attached. */
  readonly fsRoots: readonly FsRootRow[];
  /** Logs appended to, as they are after the commit. */
  readonly logs: readonly LogRow[];
  /** Documents written (not those removed). */
  readonly docs: readonly DocRow[];
}

/** The news that listeners get once a commit is durable and readable. */
export interface Change extends Committed {
  /** Every context whose head, open turn or metadata moved, as it is now. */
  readonly heads: readonly HeadRow[];
  /** Contexts whose head was moved without a new turn. Absent when there is none. */
  readonly moves?: readonly ContextId[];
  readonly removedContexts: readonly ContextId[];
  readonly deltas: readonly TurnDelta[];
  readonly removedLogs: readonly string[];
  readonly removedDocs: readonly string[];
}
