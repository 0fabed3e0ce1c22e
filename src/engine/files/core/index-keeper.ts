import { QuipuError } from '../../../base/errors.ts';
import type { Progress } from '../../engine.ts';
import type { Core } from './core.ts';
import { Index } from '../index/store-index.ts';
import { type ContextPlace, type Shelf, ShelfDamaged, type ShelfSource } from '../index/shelf.ts';
import type { StateWriter } from '../truth/state.ts';
import type { Rebuild } from '../truth/truth.ts';
import { rebuildIndex } from './truths.ts';

type Known = Pick<Rebuild, 'isUsed' | 'seen'>;

/** Keeps the index up to date with the store, and rebuilds it when it cannot be trusted. */
export class IndexKeeper {
  readonly #core: Core;
  readonly #source: ShelfSource;
  #shelf: Shelf;
  /** The promise of callers that wait for an index rebuild between two groups. */
  #mending: Promise<boolean> | undefined;

  /** `core.seq` is the last frame that the index was told of. */
  constructor(core: Core, source: ShelfSource) {
    this.#core = core;
    this.#source = source;
    this.#shelf = source.open();
    core.index = this.#wrap(this.#shelf);
  }

  /** The last frame that the index on disk covers. Undefined when it covers none, or not for certain. */
  get coveredSeq(): number | undefined {
    const { seq, damaged } = this.#shelf.positions();
    return damaged === 1 ? undefined : seq;
  }

  /** Runs in a quiet moment after acknowledgements. `mend` handles damage that is found then. */
  flushQuietly(mend: (error: unknown) => Promise<boolean>): void {
    try {
      this.#core.index.maybeFlush();
    } catch (error) {
      // Waiting entries stay in memory. A damaged shelf is rebuilt in the background.
      if (error instanceof ShelfDamaged) void mend(error).catch(() => undefined);
    }
  }

  /** Like `mend`, between two groups: commits that arrive meanwhile would not be in the new index. */
  async mendBetween(error: unknown, groups: Pick<StateWriter, 'exclusively'>): Promise<boolean> {
    if (!(error instanceof ShelfDamaged)) return false;
    this.#mending ??= groups
      .exclusively(() => this.mend(error))
      .finally(() => {
        this.#mending = undefined;
      });
    return this.#mending;
  }

  /**
   * True when `error` came from a damaged index, which has been rebuilt. Then a retry may work. Call this where no
   * commit can come between.
   */
  async mend(error: unknown): Promise<boolean> {
    if (!(error instanceof ShelfDamaged)) return false;
    await this.rebuild();
    return true;
  }

  /** Rebuilds an index that is up to date. Its packs with places, and its places of contexts, are trusted. */
  async reindex(progress?: Progress): Promise<void> {
    const { index } = this.#core;
    let used: ReadonlySet<number> | undefined;
    await this.rebuild(progress, {
      isUsed: (pack) => (used ??= packsOf(index)).has(pack),
      seen: (context) => contextOf(index, context),
    });
  }

  /** For a missing or outdated index. An index that has seen every frame is trusted, except for its damage. */
  async renew(): Promise<void> {
    if (this.#shelf.positions()['seq'] === this.#core.seq) await this.reindex();
    else await this.rebuild();
  }

  /**
   * Reads the whole store. Readers use the old index until the new one is complete. `isUsed` tells whether a pack
   * is in use that does not say itself whether it counts. `seen` gives the place of a context whose head is
   * damaged.
   */
  async rebuild(progress?: Progress, known: Partial<Known> = {}): Promise<void> {
    try {
      await this.#buildIn(this.#source.create(), progress, known);
    } catch (error) {
      // An error of the store's own files has a code.
      if (error instanceof QuipuError) throw error;
      await this.#buildIn(this.#source.create(true), progress, known);
    }
  }

  async #buildIn(
    fresh: Shelf,
    progress: Progress | undefined,
    { isUsed = () => false, seen }: Partial<Known>,
  ): Promise<void> {
    const core = this.#core;
    const { files, tails } = core;
    try {
      const index = this.#wrap(fresh);
      const isOpenTurn = (id: number): boolean => core.openTurns.has(id);
      const from = { files, tails, index, progress, isOpenTurn, isUsed, seen };
      core.damage = await rebuildIndex(from);
      index.flush(true);
    } catch (error) {
      fresh.close();
      throw error;
    }
    this.#shelf = this.#source.install(fresh, this.#shelf);
    core.index = this.#wrap(this.#shelf);
    if (this.#shelf.positions()['seq'] !== this.#core.seq)
      throw new ShelfDamaged('it did not arrive');
  }

  close(): void {
    this.#core.index.close();
  }

  #wrap(shelf: Shelf): Index {
    const positions = () => ({
      seq: this.#core.seq,
      damaged: this.#core.damage.places.length > 0 ? 1 : 0,
    });
    return new Index({ shelf, positions });
  }
}

function contextOf(index: Index, context: number): ContextPlace | undefined {
  try {
    return index.getContext(context);
  } catch (error) {
    if (error instanceof ShelfDamaged) return undefined;
    throw error;
  }
}

/** A damaged index names the packs that it still can read. */
function packsOf(index: Index): Set<number> {
  const packs = new Set<number>();
  try {
    for (const { pack } of index.flushed().walkBlobs()) packs.add(pack);
  } catch (error) {
    if (!(error instanceof ShelfDamaged)) throw error;
  }
  return packs;
}
