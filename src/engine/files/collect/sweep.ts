import type { Hash, TurnId } from '../../../base/brand.ts';
import { BLOB_OVERHEAD_BYTES, BlobCodec } from '../../../format/blob-record.ts';
import {
  addCollected,
  encodeCollectedMap,
  extendCollected,
  isCollected,
} from '../../../format/turn-record.ts';
import type { Progress } from '../../engine.ts';
import type { SweepPlan, SweepReport } from '../../upkeep.ts';
import type { Writer } from '../commit/writer.ts';
import { isNoRoom } from '../disk/io-error.ts';
import type { BlobPlace } from '../index/shelf.ts';
import type { Index } from '../index/store-index.ts';
import { type Age, wasThere } from '../journal/checkpoint-file.ts';
import { closePack } from '../packs/pack-file.ts';
import { overwriteRecords } from '../packs/erased-blobs.ts';
import { COLLECTED_FILE } from '../turns/turn-table.ts';
import type { GiveWay } from './give-way.ts';
import { groupPacks, type PackUse, planPacks, readPackPlaces } from './pack-places.ts';
import { rewritePack } from './rewrite-pack.ts';

/** Small enough that commits wait only for a moment. */
const PAGE_LISTS = 64;

/** Free room that a copy must leave, because commits go on meanwhile. */
const ROOM_TO_LEAVE_BYTES = 64 * 1024 * 1024;
/** The number of turns to examine while commits wait: about a millisecond of work. */
const TURNS_AT_ONCE = 16_384;
/** The number of places in memory at a time, 5 to 7 bytes each. A lower number means more walks over the index. */
const PLACES_AT_ONCE = 4 * 1024 * 1024;

export interface SweepOptions {
  readonly plan: SweepPlan;
  readonly age: Age | undefined;
  readonly recent: Set<Hash>;
  readonly progress: Progress | undefined;
  readonly way: GiveWay;
}

type Report = { -readonly [Key in keyof SweepReport]: SweepReport[Key] };

function skip(report: Report, { deadBytes }: PackUse): void {
  report.skippedForSpace += 1;
  report.keptDeadBytes += deadBytes;
}

/** Carries a plan out, pack by pack. Each pack is removed in one frame, or not at all. */
export class Sweep {
  readonly #writer: Writer;
  readonly #options: SweepOptions;

  constructor(writer: Writer, options: SweepOptions) {
    this.#writer = writer;
    this.#options = options;
  }

  /**
   * Before any byte goes, the turns that lose their payload stop being readable. So no one can fork from a turn
   * without a payload. Each step runs between two commits, because the answer of the plan may just have changed.
   * The newest turns go first: a commit that needs a turn which is still readable finds its ancestors.
   */
  async collectTurns(next: number, open: ReadonlySet<number>): Promise<void> {
    const { core } = this.#writer;
    const before = core.collected;
    const map = extendCollected(before, next);
    core.collected = map;
    try {
      let changed = false;
      for (let end = next; end > 1; end -= TURNS_AT_ONCE) {
        const range = { first: Math.max(1, end - TURNS_AT_ONCE), end };
        await this.#writer.exclusively(async () => {
          changed = this.#collectRange(range, open) || changed;
        });
        await this.#options.way.breathe();
      }
      // The first map is written whatever it holds: it says that blobs may be gone because they were collected.
      if (!changed && before.next > 0) {
        core.collected = before;
        return;
      }
      const data = encodeCollectedMap(map);
      await this.#writer.exclusively(() =>
        this.#writer.storeWrites([{ kind: 'whole', path: COLLECTED_FILE, data }]),
      );
    } catch (error) {
      // Nothing has been removed yet.
      core.collected = before;
      throw error;
    }
  }

  #collectRange(
    { first, end }: { first: number; end: number },
    open: ReadonlySet<number>,
  ): boolean {
    const { plan } = this.#options;
    const { collected } = this.#writer.core;
    let changed = false;
    for (let id = first; id < end; id += 1) {
      if (isCollected(collected, id) || open.has(id)) continue;
      if (plan.isLiveTurn(BigInt(id) as TurnId)) continue;
      addCollected(collected, id);
      changed = true;
    }
    return changed;
  }

  async run(): Promise<SweepReport> {
    const { plan, progress, way } = this.#options;
    const { core } = this.#writer;
    const isKept = ({ hash, pack, offset }: BlobPlace): boolean => this.#isKept(hash, pack, offset);
    const lists = new DeadLists(this.#writer, plan, isKept);
    const onDead = (place: BlobPlace): Promise<void> | undefined => lists.add(place);
    const uses = await measurePacks(core.index, { isKept, onDead, way });
    await lists.drop();
    const { rewrite, keptDeadBytes } = planPacks(uses, plan.deadShare);
    const report: Report = {
      removedBlobs: lists.dropped,
      freedBytes: 0,
      keptDeadBytes,
      skippedForSpace: 0,
    };
    let done = 0;
    for (const group of groupPacks(rewrite, PLACES_AT_ONCE)) {
      progress?.(done, rewrite.length, 'packs');
      await this.#rewriteGroup(group, report, () =>
        progress?.((done += 1), rewrite.length, 'packs'),
      );
    }
    // Dead blobs leave the cache only now: their bytes could have been read again until the last pack was gone.
    await core.blobs.forgetUnless(
      (hash) => plan.isLive(hash),
      () => way.breathe(),
    );
    return report;
  }

  async #rewriteGroup(
    group: readonly PackUse[],
    report: Report,
    onDone: () => void,
  ): Promise<void> {
    const { plan, recent, way } = this.#options;
    const places = await readPackPlaces(this.#writer.core.index, group, way);
    for (const use of group) {
      const known = places.get(use.pack);
      const isReady = (await this.#hasRoomFor(use)) && (await this.#close(use.pack));
      if (known === undefined || !isReady) {
        skip(report, use);
        continue;
      }
      const isLive = (hash: Hash, offset: number): boolean => this.#isKept(hash, use.pack, offset);
      const options = { plan, isLive, recent, places: known, way };
      try {
        const { removedBlobs, freedBytes } = await rewritePack(this.#writer, use.pack, options);
        report.removedBlobs += removedBlobs;
        report.freedBytes += freedBytes;
      } catch (error) {
        // Others took the room meanwhile. Another pack may need less.
        if (!isNoRoom(error)) throw error;
        skip(report, use);
      }
      places.delete(use.pack);
      onDone();
    }
  }

  #isKept(hash: Hash, pack: number, offset: number): boolean {
    const { age, plan } = this.#options;
    if (age === undefined || !wasThere(age, pack, offset)) return true;
    return plan.isLive(hash) || this.#writer.held.has(hash);
  }

  async #hasRoomFor({ liveBytes }: PackUse): Promise<boolean> {
    if (liveBytes === 0) return true;
    const { files } = this.#writer.core;
    return (await files.io.freeBytes(files.root)) >= liveBytes + ROOM_TO_LEAVE_BYTES;
  }

  /** Closes a pack that still takes records. Returns false when a put is writing to it. */
  async #close(number: number): Promise<boolean> {
    return this.#writer.exclusively(async () => {
      const { core } = this.#writer;
      const pack = core.tails.packs.find((open) => open.number === number);
      if (pack === undefined) return true;
      return this.#writer.bulk.withoutPuts(number, () =>
        this.#writer.storeWrites([closePack(pack)]),
      );
    });
  }
}

// The list of a large blob lies in another pack than its chunks, and that pack may be mostly alive and stay. So
// dead lists are removed before any chunk. A list is never without its chunks, whatever is rewritten, skipped or
// interrupted after this.

/** Overwrites lists that are not kept. Asks the plan again between two commits. */
class DeadLists {
  readonly #writer: Writer;
  readonly #isKept: (place: BlobPlace) => boolean;
  readonly #plan: Pick<SweepPlan, 'settle'>;
  #page: BlobPlace[] = [];
  /** The number of lists that were overwritten. */
  dropped = 0;

  constructor(
    writer: Writer,
    plan: Pick<SweepPlan, 'settle'>,
    isKept: (place: BlobPlace) => boolean,
  ) {
    this.#writer = writer;
    this.#plan = plan;
    this.#isKept = isKept;
  }

  /** Takes every place that is not kept. The lists among them are removed later. */
  add(place: BlobPlace): Promise<void> | undefined {
    if (place.codec !== BlobCodec.chunks) return undefined;
    this.#page.push(place);
    return this.#page.length < PAGE_LISTS ? undefined : this.drop();
  }

  async drop(): Promise<void> {
    const page = this.#page;
    this.#page = [];
    if (page.length === 0) return;
    await this.#writer.exclusively(async () => {
      await this.#plan.settle?.();
      const dead = page.filter((place) => !this.#isKept(place));
      await overwriteRecords(this.#writer, dead);
      this.dropped += dead.length;
    });
  }
}

interface MeasureOptions {
  readonly isKept: (place: BlobPlace) => boolean;
  /** Called for every place that is not kept. */
  readonly onDead: (place: BlobPlace) => Promise<void> | void;
  readonly way: GiveWay;
}

/**
 * Measures how much of each pack is alive. A blob may lie in several places after an interrupted collection. Then
 * the place that the index finds counts, and the others count as dead.
 */
async function measurePacks(
  index: Index,
  { isKept, onDead, way }: MeasureOptions,
): Promise<PackUse[]> {
  const uses = new Map<number, { -readonly [Key in keyof PackUse]: PackUse[Key] }>();
  const count = (place: BlobPlace, isAlive: boolean, sign: 1 | -1): void => {
    const { pack } = place;
    const use = uses.get(pack) ?? { pack, liveBytes: 0, deadBytes: 0, places: 0 };
    uses.set(pack, use);
    use[isAlive ? 'liveBytes' : 'deadBytes'] += sign * (BLOB_OVERHEAD_BYTES + place.storedLength);
    use.places += sign;
  };
  let before: { place: BlobPlace; isAlive: boolean } | undefined;
  // The places of one blob come one after the other.
  for (const place of index.walkBlobs()) {
    const kept = isKept(place);
    let isAlive = kept;
    if (isAlive && before?.isAlive === true && before.place.hash === place.hash) {
      isAlive = index.findsAt(place);
      if (isAlive) {
        count(before.place, true, -1);
        count(before.place, false, 1);
      }
    }
    count(place, isAlive, 1);
    // The place that the index finds is remembered until the next blob.
    if (isAlive || before?.place.hash !== place.hash) before = { place, isAlive };
    const work = kept ? undefined : onDead(place);
    if (work !== undefined) await work;
    if (way.isDue) await way.breathe();
  }
  return [...uses.values()];
}
