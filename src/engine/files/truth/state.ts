import type { Hash } from '../../../base/brand.ts';
import type { CollectedMap } from '../../../format/collected-map.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { TurnRecord } from '../../../format/turn-record.ts';
import type { Batch, Committed } from '../../batch.ts';
import type { CommittedView, OpenTurn, StoredTurn } from '../../plan/draft.ts';
import type { PatchRow } from '../../rows.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Index } from '../index/store-index.ts';
import type { DamageReport } from './damage.ts';
import type { Tails } from './tails.ts';

/** The current state of a store, as far as its truths look at each other. `Core` is it. */
export interface State extends CommittedView {
  readonly files: StoreFiles;
  readonly index: Index;
  readonly tails: Tails;
  readonly damage: DamageReport;
  readonly openTurns: Map<number, OpenTurn>;
  readonly collected: CollectedMap;
  readonly erased: {
    readonly fileBytes: number;
    has(hash: Hash): boolean;
    add(hash: Hash): void;
  };
  readonly types: { has(tag: string): boolean };
  readonly turns: { toStored(record: TurnRecord): StoredTurn | undefined };
  readonly blobs: {
    read(hash: Hash, start: number, end: number): AsyncGenerator<Uint8Array>;
    forget(hashes: readonly Hash[]): void;
  };
  findTurn(id: number): Promise<StoredTurn | undefined>;
  getPatchesAt(seqs: readonly number[]): Promise<PatchRow[]>;
  absorbHead(head: HeadRecord): void;
}

/** The writer of a store, as far as its truths use it. */
export interface StateWriter {
  readonly core: State;
  /** The last frame that is visible. */
  readonly seq: number;
  /** Counts the starts and ends of groups that are becoming visible. The number is odd in between. */
  readonly moves: number;
  readonly nowMs: number;
  commit(batch: Batch): Promise<Committed>;
  /** Runs `work` between two groups. Commits sent meanwhile wait. */
  exclusively<T>(work: () => Promise<T>): Promise<T>;
  /** Makes writes of upkeep durable and visible. Call this within `exclusively`. */
  storeWrites(writes: readonly JournalWrite[], absorb?: () => void): Promise<void>;
  /** Runs `work` as the only upkeep task. */
  upkeep<T>(what: string, work: () => Promise<T>): Promise<T>;
  checkpoint(): Promise<void>;
  /** Overwrites every frame in the journal. */
  scrubJournal(): Promise<void>;
  /** True when the index was the problem and has been rebuilt. */
  mendBetween(error: unknown): Promise<boolean>;
}
