import type { Progress } from '../../engine.ts';
import type { ContextPlace } from './shelf.ts';
import type { Index } from './store-index.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Tails } from '../commit/tails.ts';
import type { DamageReport } from '../recovery/damage.ts';

/** What every part of building the index anew works with. */
export interface Rebuild {
  readonly files: StoreFiles;
  readonly tails: Tails;
  readonly index: Index;
  readonly damage: DamageReport;
  readonly progress: Progress | undefined;
  /** An empty slot of turns.log is right for a turn that is still open. */
  readonly isOpenTurn: (id: number) => boolean;
  /** True for a pack that blobs were found in before. */
  readonly isUsed: (pack: number) => boolean;
  /** What is known of a context whose head is damaged. */
  readonly seen?: ((context: number) => ContextPlace | undefined) | undefined;
}
