import type { Hash, TurnId } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import { hashBytes } from '../base/hash.ts';
import { encodeUtf8 } from '../base/text.ts';
import type { Engine } from '../engine/engine.ts';
import type { PatchRow } from '../engine/rows.ts';
import type { RootSource } from '../engine/roots.ts';
import type { BlobNeed, EraseReport } from '../engine/upkeep.ts';
import { findNeeds } from './blob-needs.ts';
import type { BlobNeeds } from './blob-needs.ts';
import { findUsers, usersIn } from './blob-users.ts';
import type { BlobUsers } from './blob-users.ts';
import { planErasureLines, planTombstones } from './plan-tombstones.ts';
import type { Erasure } from './plan-tombstones.ts';

const USERS_LISTED_MAX = 1000;
const TURNS_PER_COMMIT = 500;
const NO_NEEDS: BlobNeeds = new Map();

export interface EraseRequest extends Erasure {
  /** The turn whose bytes these are: its own use does not count as use by others. */
  readonly turn?: TurnId;
  /** Erase the blobs also when others use them. */
  readonly everywhere: boolean;
  /** Kinds of thread, other than turns, that may need the blobs. */
  readonly others: readonly RootSource[];
  /** The needs that do not count. */
  readonly letGo?: readonly BlobNeed[];
}

/**
 * Writes tombstones first, so that no turn is ever without both its payload and the reason why. Then erases the bytes.
 * A turn that begins to use a blob while this runs is treated like the turns found before.
 */
export async function eraseBlobs(engine: Engine, request: EraseRequest): Promise<EraseReport[]> {
  const { hashes, turn, everywhere, letGo } = request;
  if (hashes.includes(hashBytes(encodeUtf8(request.reason)))) {
    throw invalid('reason', 'is the very text to erase; it stays readable, so say it otherwise');
  }
  const erased = new Set(hashes);
  const late = new Set<TurnId>();
  const stopListening = engine.subscribe((change) => {
    for (const user of usersIn(change, erased)) late.add(user);
  });
  try {
    const users = await findUsers(engine, hashes);
    const known = new Set(users.showing);
    const isShared = [...users.byBlob.values()].flat().some((user) => user !== turn);
    const needs = everywhere ? NO_NEEDS : await findNeeds(engine, request.others, hashes, letGo);
    if (!everywhere && (isShared || needs.size > 0)) return toReports(users, needs, false);

    await engine.commit(planErasureLines(request));
    if (turn !== undefined) known.delete(turn);
    await hide(engine, [...known], request);
    if (turn !== undefined) await engine.commit(planTombstones(new Map([[turn, []]]), request));
    // This includes blobs that cannot be found any more: an unfinished attempt may have left parts of them.
    for (const hash of hashes) await engine.upkeep.eraseBlob(hash);
    await hideLate(
      engine,
      [...late].filter((user) => user !== turn && !known.has(user)),
      request,
    );
    return toReports(users, needs, true);
  } finally {
    stopListening();
  }
}

async function hide(engine: Engine, turns: readonly TurnId[], request: Erasure): Promise<void> {
  for (let at = 0; at < turns.length; at += TURNS_PER_COMMIT) {
    const page = turns.slice(at, at + TURNS_PER_COMMIT);
    const patches = new Map<TurnId, PatchRow[]>(page.map((id) => [id, []]));
    for (const row of await engine.getPatches(page)) patches.get(row.turn)?.push(row);
    await engine.commit(planTombstones(patches, request));
  }
}

/** If bytes were put again after they had been erased, they are there, and no turn lacks them. */
async function hideLate(
  engine: Engine,
  late: readonly TurnId[],
  request: EraseRequest,
): Promise<void> {
  if (late.length === 0) return;
  const gone: Hash[] = [];
  for (const hash of request.hashes) if (!(await engine.hasBlob(hash))) gone.push(hash);
  if (gone.length > 0) await hide(engine, late, { ...request, hashes: gone });
}

function toReports(users: BlobUsers, needs: BlobNeeds, erased: boolean): EraseReport[] {
  return [...users.byBlob].map(([hash, turns]) => ({
    hash,
    erased,
    usedBy: turns.slice(0, USERS_LISTED_MAX),
    neededBy: (needs.get(hash) ?? []).slice(0, USERS_LISTED_MAX),
  }));
}
