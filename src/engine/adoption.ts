import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type { ContextMeta, DocRow, FsRootRow, PatchRow, TurnRow } from './rows.ts';

// Adoption makes a store the copy of another one. `Records` reads what an engine's other reads do not show.
// `Upkeep.adopt` takes records over with their ids, numbers, versions and times.
//
// A copy needs no new calls for the rest. A collection lists the blobs, and the copy puts them as blobs. Log lines
// are appended with the length that they continue.
//
// An adoption is one commit: all of it is durable and visible, or none of it. An adoption continues the target
// store: turns, contexts and patches take the very next ids and numbers. So a store that was used for anything else
// refuses (INVALID), and an interrupted copy resumes from the target's tips.

/** A turn as it was stored, or the note that its id is taken and its turn is gone. */
export type TurnEntry =
  | {
      readonly id: TurnId;
      /** As stored: without the flags that only reads set. Open turns have no payload. */
      readonly row: TurnRow;
      readonly key?: Uint8Array;
      readonly gone?: undefined;
    }
  /** A collection took the turn. Its key, where known, must not be given out again as new. */
  | { readonly id: TurnId; readonly gone: true; readonly key?: Uint8Array };

/** Patches and file-system roots share one sequence. A number may also be taken while its record is gone. */
export type PatchEntry =
  | { readonly seq: number; readonly patch: PatchRow }
  | {
      readonly seq: number;
      readonly fsRoot: FsRootRow;
      readonly createdAt: number;
      /** The turn was given another root later, so the tree of this root may be gone. */
      readonly replaced: boolean;
    }
  /** The turn is gone, and its record with it. */
  | { readonly seq: number; readonly gone: true };

export interface DocEntry {
  readonly row: DocRow;
  readonly published: boolean;
}

/** A blob that was put with its SHA-256. */
export interface Sha256Name {
  readonly sha256: string;
  readonly hash: Hash;
}

/** The reads that a copy needs beyond what every reader can ask for. */
export interface Records {
  /** The entries of every id from `from` up to the tip, in order; at most `limit`. */
  turns(from: TurnId, limit: number): Promise<readonly TurnEntry[]>;
  /** The entries of every number from `from` up to the tip, in order; at most `limit`. */
  patches(from: number, limit: number): Promise<readonly PatchEntry[]>;
  /** The SHA-256 names, including names of blobs that are gone. */
  sha256Names(): AsyncIterable<readonly Sha256Name[]>;
  /** Blobs that were erased and are not there. Their absence is no damage. */
  erased(): AsyncIterable<readonly Hash[]>;
  /** The entries of the named documents that exist, in the order of the names. */
  docs(names: readonly string[]): Promise<readonly DocEntry[]>;
}

export type AdoptedContext =
  | {
      readonly id: ContextId;
      readonly base: TurnId;
      readonly createdAt: number;
      readonly updatedAt: number;
      readonly meta: ContextMeta;
      /** The head of a context that was moved, once all its turns are there. */
      readonly movedTo?: TurnId;
      readonly removed?: undefined;
    }
  /** The id stays unused. Nothing else of the context is known or needed. */
  | { readonly id: ContextId; readonly removed: true };

/**
 * Each list is taken from first to last, and the lists together. A context may be based on a turn of the same
 * adoption, and a turn may be in a context of the same adoption.
 *
 * Turns: the parent exists (NOT_FOUND), the depth fits it, the payload is stored or erased (NOT_FOUND), and no turn
 * is open. `key` is the hash of the idempotency key as `format/idempotency.ts` makes it, so that a retry against the
 * copy finds its turn.
 *
 * Contexts: a new context begins at its base. Each adopted turn becomes the head of its context, as with an append,
 * unless the context was removed. An existing context is updated: its metadata and removal become the given ones, its
 * time of change the later one, and base and head stay, unless a head is given.
 *
 * Patches: the turn exists or is gone. The payload is as for turns, and may also be missing when the turn is gone or
 * the root was replaced.
 *
 * Documents: a document does not exist yet, or is at an earlier version. Names of missing blobs are skipped.
 */
export interface Adoption {
  readonly erased?: readonly Hash[];
  readonly sha256Names?: readonly Sha256Name[];
  readonly contexts?: readonly AdoptedContext[];
  readonly turns?: readonly TurnEntry[];
  readonly patches?: readonly PatchEntry[];
  readonly docs?: readonly DocEntry[];
}
