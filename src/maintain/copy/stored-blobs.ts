import type { Hash } from '../../base/brand.ts';
import type { Engine } from '../../engine/engine.ts';
import { LiveSet } from '../live-set.ts';

/** Nothing is swept, so any value will do. */
const GRACE_MS = 3_600_000;

/**
 * Every blob that was put. The chunks of large blobs are left out: another engine cuts its own. While this runs, no
 * collection can take any of the blobs. Memory: 10 bytes a chunk, as for a collection.
 */
export async function* storedBlobs(engine: Engine): AsyncGenerator<readonly Hash[]> {
  const noted = { blob: () => undefined, turn: () => undefined };
  const collection = await engine.upkeep.startCollection({ graceMs: GRACE_MS, noted });
  try {
    const chunks = new LiveSet();
    for await (const page of collection.blobs()) {
      for (const { hash, chunked } of page) {
        if (!chunked) continue;
        for (const chunk of await collection.chunksOf(hash)) chunks.add(chunk);
      }
    }
    for await (const page of collection.blobs()) {
      yield page.map(({ hash }) => hash).filter((hash) => !chunks.has(hash));
    }
  } finally {
    await collection.end();
  }
}
