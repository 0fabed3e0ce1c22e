import { toContextId, type ContextId } from '../../base/brand.ts';
import { invalid, type QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { BlobEntry } from '../../engine/upkeep.ts';
import type { Progress } from '../../engine/progress.ts';
import type { QueueRecords } from '../../queue/upkeep/queue-records.ts';
import { LiveSet } from '../live-set.ts';

/** The parts that every step of a copy works with. */
export interface Pair<T = Engine> {
  readonly from: T;
  readonly to: T;
  readonly progress: Progress;
  /** Throws when the copy must end here. Called between two steps, never within one. */
  readonly pause: () => void;
}

export type QueuePair = Pair<QueueRecords>;

/** `so far`: the target holds only a beginning of the source. `whole`: the target holds all of it. */
export type Extent = 'so far' | 'whole';

export function differs(extent: Extent, what: string): QuipuError<'INVALID'> {
  const todo =
    extent === 'whole'
      ? 'if something wrote to the source or the target meanwhile, stop it and run the same copy again'
      : 'a copy goes into an empty place, or on where a copy of the same source was cut off';
  return invalid('target', `is no copy of the source: ${what}; ${todo}`);
}

/** Over a network each item is a request of its own: this many are sent at a time. */
const FEW = 32;

/** Runs `work` for each item, a few at a time, with the results in the order of the items. */
export async function mapFew<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += FEW) {
    results.push(...(await Promise.all(items.slice(at, at + FEW).map(work))));
  }
  return results;
}

/** The ids of contexts from the first to the last number. */
export function contextIds(first: bigint, last: bigint): ContextId[] {
  const ids: ContextId[] = [];
  for (let id = first; id <= last; id += 1n) ids.push(toContextId(id));
  return ids;
}

/** Nothing is swept, so any value will do. */
const GRACE_MS = 3_600_000;

/**
 * Every blob that was put. The chunks of large blobs are left out: another engine cuts its own. While this runs, no
 * collection can take any of the blobs. Memory: 10 bytes a chunk, as for a collection.
 */
export async function* storedBlobs(engine: Engine): AsyncGenerator<readonly BlobEntry[]> {
  const reliance = { blob: () => undefined, turn: () => undefined };
  const collection = await engine.upkeep.startCollection({ graceMs: GRACE_MS, reliance });
  try {
    const chunks = new LiveSet();
    for await (const page of collection.blobs()) {
      for (const { hash, chunked } of page) {
        if (!chunked) continue;
        for (const chunk of await collection.chunksOf(hash)) chunks.add(chunk);
      }
    }
    for await (const page of collection.blobs()) {
      yield chunks.size === 0 ? page : page.filter(({ hash }) => !chunks.has(hash));
    }
  } finally {
    await collection.end();
  }
}
