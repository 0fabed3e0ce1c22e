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
import type { BlobPlace, PlaceRef } from '../index/shelf.ts';
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

/**
 * Before any byte goes, the turns that lose their payload stop being readable. So no one can fork from a turn without a
 * payload. Each step runs between two commits, because the answer of the plan may just have changed. The newest turns
 * go first: a commit that needs a turn which is still readable finds its ancestors.
 */
export async function collectTurns(
  writer: Writer,
  { plan, way }: SweepOptions,
  next: number,
  open: ReadonlySet<number>,
): Promise<void> {
  const { core } = writer;
  const before = core.collected;
  const map = extendCollected(before, next);
  core.collected = map;
  let changed = false;
  const collect = (first: number, end: number): void => {
    for (let id = first; id < end; id += 1) {
      if (isCollected(core.collected, id) || open.has(id)) continue;
      if (plan.isLiveTurn(BigInt(id) as TurnId)) continue;
      addCollected(core.collected, id);
      changed = true;
    }
  };
  try {
    for (let end = next; end > 1; end -= TURNS_AT_ONCE) {
      await writer.exclusively(async () => collect(Math.max(1, end - TURNS_AT_ONCE), end));
      await way.breathe();
    }
    // The first map is written whatever it holds: it says that blobs may be gone because they were collected.
    if (!changed && before.next > 0) {
      core.collected = before;
      return;
    }
    const data = encodeCollectedMap(map);
    await writer.exclusively(() =>
      writer.storeWrites([{ kind: 'whole', path: COLLECTED_FILE, data }]),
    );
  } catch (error) {
    // Nothing has been removed yet.
    core.collected = before;
    throw error;
  }
}

/** Carries a plan out, pack by pack. Each pack is removed in one frame, or not at all. */
export async function sweepPacks(writer: Writer, options: SweepOptions): Promise<SweepReport> {
  const { plan, age, recent, progress, way } = options;
  const { core } = writer;
  const isKept = ({ hash, pack, offset }: PlaceRef): boolean =>
    age === undefined || !wasThere(age, pack, offset) || plan.isLive(hash) || writer.held.has(hash);
  const lists = deadLists(writer, plan, isKept);
  const uses = await measurePacks(core.index, isKept, lists.add, way);
  const removedLists = await lists.drop();
  const { rewrite, keptDeadBytes } = planPacks(uses, plan.deadShare);
  const report: Report = {
    removedBlobs: removedLists,
    freedBytes: 0,
    keptDeadBytes,
    skippedForSpace: 0,
  };
  let done = 0;
  for (const group of groupPacks(rewrite, PLACES_AT_ONCE)) {
    progress?.(done, rewrite.length, 'packs');
    const places = await readPackPlaces(core.index, group, way);
    for (const use of group) {
      const known = places.get(use.pack);
      const isReady = (await hasRoomFor(writer, use)) && (await close(writer, use.pack));
      if (known === undefined || !isReady) {
        skip(report, use);
        continue;
      }
      try {
        const rewriting = { plan, isKept, recent, places: known, way };
        const { removedBlobs, freedBytes } = await rewritePack(writer, use.pack, rewriting);
        report.removedBlobs += removedBlobs;
        report.freedBytes += freedBytes;
      } catch (error) {
        // Others took the room meanwhile. Another pack may need less.
        if (!isNoRoom(error)) throw error;
        skip(report, use);
      }
      places.delete(use.pack);
      progress?.((done += 1), rewrite.length, 'packs');
    }
  }
  // Dead blobs leave the cache only now: their bytes could have been read again until the last pack was gone.
  await core.blobs.forgetUnless(
    (hash) => plan.isLive(hash),
    () => way.breathe(),
  );
  return report;
}

async function hasRoomFor({ core }: Writer, { liveBytes }: PackUse): Promise<boolean> {
  if (liveBytes === 0) return true;
  const { files } = core;
  return (await files.io.freeBytes(files.root)) >= liveBytes + ROOM_TO_LEAVE_BYTES;
}

/** Closes a pack that still takes records. Returns false when a put is writing to it. */
async function close(writer: Writer, number: number): Promise<boolean> {
  return writer.exclusively(async () => {
    const pack = writer.core.tails.packs.find((open) => open.number === number);
    if (pack === undefined) return true;
    return writer.bulk.withoutPuts(number, () => writer.storeWrites([closePack(pack)]));
  });
}

// The list of a large blob lies in another pack than its chunks, and that pack may be mostly alive and stay. So
// dead lists are removed before any chunk. A list is never without its chunks, whatever is rewritten, skipped or
// interrupted after this.

/** Overwrites the lists among the places that are not kept. Asks the plan again between two commits. */
function deadLists(
  writer: Writer,
  plan: Pick<SweepPlan, 'settle'>,
  isKept: (place: BlobPlace) => boolean,
): {
  readonly add: (place: BlobPlace) => Promise<unknown> | undefined;
  readonly drop: () => Promise<number>;
} {
  let dropped = 0;
  let page: BlobPlace[] = [];
  const drop = async (): Promise<number> => {
    const places = page;
    page = [];
    if (places.length === 0) return dropped;
    await writer.exclusively(async () => {
      await plan.settle?.();
      const dead = places.filter((place) => !isKept(place));
      await overwriteRecords(writer, dead);
      dropped += dead.length;
    });
    return dropped;
  };
  const add = (place: BlobPlace): Promise<unknown> | undefined => {
    if (place.codec !== BlobCodec.chunks) return undefined;
    page.push(place);
    return page.length < PAGE_LISTS ? undefined : drop();
  };
  return { add, drop };
}

/**
 * Measures how much of each pack is alive. A blob may lie in several places after an interrupted collection. Then
 * the place that the index finds counts, and the others count as dead. `onDead` is called for every place that is not
 * kept.
 */
async function measurePacks(
  index: Index,
  isKept: (place: BlobPlace) => boolean,
  onDead: (place: BlobPlace) => Promise<unknown> | undefined,
  way: GiveWay,
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
  for (const place of index.flushed().walkBlobs()) {
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
