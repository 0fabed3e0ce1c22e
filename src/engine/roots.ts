import type { Hash, TurnId } from '../base/brand.ts';
import type { Change } from './batch.ts';

// A collection begins at roots. Everything reachable from a root stays, and the rest may go. `of` tells people
// whose root it is, usually by the id of a thread.

export type Root =
  /** A turn, its payload and patches, and so every ancestor of it. */
  | { readonly turn: TurnId }
  /** A blob, and the chunks it is stored as. */
  | { readonly blob: Hash; readonly of?: string }
  /** A blob that may be a node: the blobs that its `refs` name stay as well, and so on. */
  | { readonly node: Hash; readonly of?: string }
  /** The tree of a file system: every blob that its bytes name stays as well, and so on. */
  | { readonly tree: Hash };

/**
 * Every kind of thread reports here what it still needs. A source that cannot read a root must throw: a collection
 * that does not know everything in use deletes nothing.
 */
export interface RootSource {
  /** Names the kind in messages. */
  readonly kind: string;
  /** Every root there is. Roots committed while this runs may be left out, because `rootsIn` reports them. */
  roots(): AsyncIterable<Root>;
  /**
   * Roots that a commit made, beyond the turns and blobs that the engine knows the commit relies on. The collection
   * asks for every commit, from before `roots` begins until the last blob is gone.
   */
  rootsIn(change: Change): Iterable<Root>;
  /**
   * Roots that appeared since `roots` and that no commit reports, such as a line in a file. The collection asks
   * between two commits, before each step that removes something. So this call must not commit.
   */
  late?(): AsyncIterable<Root>;
  /** Names, for people, what `roots` could not read. Everything that these might refer to was kept. */
  unread?(): readonly string[];
}
