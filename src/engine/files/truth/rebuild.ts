import type { HeadMove } from '../../../format/head-moves.ts';
import type { Progress } from '../../engine.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { ContextPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import type { DamageReport, Tails } from './state.ts';

// Builds the index from the files alone. Memory stays bounded: files are read in pieces, and the index writes
// itself out as it fills. Damage is noted and skipped, so that everything else can still be found.

/** The values that every part of an index rebuild works with. */
export interface Rebuild {
  readonly files: StoreFiles;
  readonly tails: Tails;
  readonly index: Index;
  readonly damage: DamageReport;
  readonly progress: Progress | undefined;
  /** True for a turn that is still open: its empty slot in the file of turns is right. */
  readonly isOpenTurn: (id: number) => boolean;
  /** The newest turn of each context, by the turns themselves. 0 for none. */
  readonly newest: Uint32Array;
  /** Where heads were moved without a new turn. */
  readonly moves: Map<number, HeadMove>;
  /** True for a pack in which blobs were found before. */
  readonly isUsed: (pack: number) => boolean;
  /** The last known place of a context whose head is damaged. */
  readonly seen?: ((context: number) => ContextPlace | undefined) | undefined;
}
