import type { Hash, TurnId } from '../base/brand.ts';
import type { Change } from './batch.ts';

// Where a collection begins. Whatever is reached from a root stays; the rest may go. `of` says to people
// whose root it is: the id of a thread, as a rule.

export type Root =
  /** A turn, its payload and patches, and so every ancestor of it. */
  | { readonly turn: TurnId }
  /** A blob, and the chunks it is stored as. */
  | { readonly blob: Hash; readonly of?: string }
  /** A blob that may be a node: what its `refs` name stays as well, and so on. */
  | { readonly node: Hash; readonly of?: string }
  /** The tree of a file system: every blob that its bytes name stays as well, and so on. */
  | { readonly tree: Hash };

/**
 * What every kind of thread says about what it still needs. A root that cannot be read must throw:
 * a collection that does not know everything that is in use deletes nothing.
 */
export interface RootSource {
  /** Names the kind in messages. */
  readonly kind: string;
  /** Every root there is. What is committed while this runs may be left out; `rootsIn` hears of it. */
  roots(): AsyncIterable<Root>;
  /**
   * Roots that a commit made, beyond the turns and blobs that the engine knows it relies on. Asked for
   * every commit from before `roots` begins until the last blob has gone.
   */
  rootsIn(change: Change): Iterable<Root>;
  /**
   * Roots that came up since `roots` and that no commit tells of, such as a line in a file. Asked between two
   * commits before each step that removes something, so it must not commit itself.
   */
  late?(): AsyncIterable<Root>;
  /** What `roots` could not read, and therefore kept all of that it might refer to. For people. */
  unread?(): readonly string[];
}
