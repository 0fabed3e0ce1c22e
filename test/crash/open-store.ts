import type { Engine } from '../../src/engine/engine.ts';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import type { Io } from '../../src/engine/io.ts';
import { mapShelves } from '../../src/testing/map-shelves.ts';

export const STORE = '/store';

/** Two frames at most: a workload of some commits changes segments again and again. */
const SEGMENT_BYTES = 8 * 1024;

// Every opening reads some pages of 4 KiB, each into a new buffer: shared pools save a tenth of its time.
Buffer.poolSize = 64 * 1024;

/**
 * The files engine on a disk of the rig. Its index is built from the files at every opening. Without a reserve, whose
 * bytes mean nothing and differ each time: a run of crashes could not be repeated.
 */
export function openStore(
  io: Io,
  clock: () => number,
  segmentBytes: number = SEGMENT_BYTES,
  reserveBytes: number = 0,
): Promise<Engine> {
  return openFilesEngine(STORE, {
    io,
    clock,
    shelves: mapShelves(),
    segmentBytes,
    checkpointMs: Infinity,
    cacheBytes: 1024 * 1024,
    reserveBytes,
  });
}
