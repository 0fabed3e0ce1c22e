import { describe, expect, it } from 'vitest';
import { openFilesEngine } from '../../src/engine/files/open-files-engine.ts';
import { mapShelves } from '../../src/testing/map-shelves.ts';
import { present } from '../../src/testing/engine-suite/fixture.ts';
import { STORE } from '../crash/open-store.ts';
import { becomeFullAnywhere, WORKS } from './full-disk.ts';

// The long run in test/soak meets every operation; here it is one in so many.
const STEP = 13;

describe('a disk that becomes full', { timeout: 120_000 }, () => {
  it.each(WORKS)('at some moment of opening and of: $name', async (work) => {
    expect(await becomeFullAnywhere(work, STEP)).toBeGreaterThan(10);
  });

  it('would be noticed if nothing were kept for what makes room', async () => {
    const erase = present(WORKS.find(({ name }) => name === 'erase'));
    const found = becomeFullAnywhere(erase, STEP, (io) =>
      openFilesEngine(STORE, { io, shelves: mapShelves(), segmentBytes: 8192, reserveBytes: 0 }),
    );
    await expect(found).rejects.toThrow('erase could not be done');
  });
});
