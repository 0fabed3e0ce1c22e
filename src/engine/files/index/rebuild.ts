import type { Progress } from '../../engine.ts';
import type { ContextPlace } from './shelf.ts';
import type { Index } from './store-index.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Tails } from '../commit/tails.ts';
import type { DamageReport } from '../recovery/damage.ts';

/** The values that every part of an index rebuild works with. */
export interface Rebuild {
  readonly files: StoreFiles;
  readonly tails: Tails;
  readonly index: Index;
  readonly damage: DamageReport;
  readonly progress: Progress | undefined;
  /** True for a turn that is still open: its empty slot in turns.log is right. */
  readonly isOpenTurn: (id: number) => boolean;
  /** True for a pack in which blobs were found before. */
  readonly isUsed: (pack: number) => boolean;
  /** The last known place of a context whose head is damaged. */
  readonly seen?: ((context: number) => ContextPlace | undefined) | undefined;
}
