import type { Hash, TurnId } from '../../../base/brand.ts';
import { isQuipuError } from '../../../base/errors.ts';
import { isFields } from '../../../base/fields.ts';
import type { Batch, Committed } from '../../batch.ts';
import { corrupt, toQuipuError } from '../disk/io-error.ts';
import type { StoreFiles } from '../disk/store-files.ts';
import type { Index } from '../index/store-index.ts';
import type { CommittedView, OpenTurn, StoredTurn } from '../../plan/draft.ts';
import type { PatchRow } from '../../rows.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import type { JournalWrite } from '../../../format/journal-frame.ts';
import type { CollectedMap, TurnRecord } from '../../../format/turn-record.ts';

/** Enough places to act on. A store with more damage is restored from a backup as a whole. */
const PLACES_MAX = 1000;

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
  findTurns(ids: readonly number[]): Promise<StoredTurn[]>;
  getPatchesAt(seqs: readonly number[]): Promise<PatchRow[]>;
  openTurnOf(context: number): Promise<TurnId | undefined>;
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

/** A pack that still takes records. */
export interface PackTail {
  readonly number: number;
  readonly bulk: boolean;
  /** The place of the next record. */
  readonly length: number;
  readonly records: number;
}

/** The end of each file: all that an append must know of the store, whatever its size. */
export interface Tails {
  readonly nextTurn: number;
  readonly nextContext: number;
  readonly nextPatch: number;
  readonly nextAlias: number;
  readonly docsBytes: number;
  readonly typesBytes: number;
  readonly nextPack: number;
  readonly packs: readonly PackTail[];
  /** The first turn that the last collection did not look at. Missing before the first, and in older checkpoints. */
  readonly nextCollected?: number;
  /** No timestamp handed out so far is later than this. */
  readonly timeMs: number;
}

/** Below this number, the place of every record in its file is a safe integer. */
const COUNT_MAX = 2 ** 44;

/** True for a number that counts something in a store: records, packs, bytes, milliseconds. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= COUNT_MAX;
}

/** Whether a value from a file has the shape of tails. A right checksum does not say who wrote it. */
export function isTails(value: unknown): value is Tails {
  if (!isFields(value) || !Array.isArray(value['packs'])) return false;
  const { nextTurn, nextContext, nextPatch, nextAlias, nextPack } = value;
  const firsts = [nextTurn, nextContext, nextPatch, nextAlias, nextPack];
  const { docsBytes, typesBytes, timeMs, nextCollected = 0 } = value;
  return (
    firsts.every((next) => isCount(next) && next > 0) &&
    [docsBytes, typesBytes, timeMs, nextCollected].every(isCount) &&
    value['packs'].every(isPackTail)
  );
}

function isPackTail(value: unknown): boolean {
  if (!isFields(value) || typeof value['bulk'] !== 'boolean') return false;
  return [value['number'], value['length'], value['records']].every(isCount);
}

/** Kinds of lookups that a damaged file makes unreliable. */
export type Area = 'blobs' | 'aliases' | 'turns' | 'heads' | 'patches' | 'docs' | 'logs';

interface DamagePlace {
  readonly area: Area;
  readonly file: string;
  readonly offset: number;
  readonly what: string;
}

/**
 * The damage found while the index was built from the files. The index may lack entries because of it. There "not
 * found" would be a lie, so such lookups answer CORRUPT.
 */
export class DamageReport {
  readonly #places: DamagePlace[] = [];

  add(place: DamagePlace): void {
    if (this.#places.length < PLACES_MAX) this.#places.push(place);
  }

  get places(): readonly DamagePlace[] {
    return this.#places;
  }

  /** Call this before answering that something in `area` does not exist. */
  assertWhole(area: Area): void {
    const place = this.#places.find((found) => found.area === area);
    if (place !== undefined) throw corrupt(place.file, place.offset, place.what);
  }
}

/**
 * Runs a read, again if need be. While a frame reaches the files, a read may find half of it, which looks like damage.
 * Between two frames nothing moves, so a repeated read tells whether this is damage. A read is also repeated when the
 * index was at fault and had to be rebuilt.
 */
export async function readSteadily<T>(writer: StateWriter, read: () => Promise<T>): Promise<T> {
  let apart = false;
  for (let mended = false; ;) {
    const before = writer.moves;
    try {
      return await (apart ? writer.exclusively(read) : read());
    } catch (error) {
      const isMoving = before % 2 === 1 || before !== writer.moves;
      if (isQuipuError(error, 'CORRUPT') && isMoving && !apart) apart = true;
      else if (mended || !(await writer.mendBetween(error))) {
        throw toQuipuError(error, writer.core.files.root);
      } else mended = true;
    }
  }
}
