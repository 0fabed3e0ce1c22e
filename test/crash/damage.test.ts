import { beforeAll, describe, expect, it } from 'vitest';
import {
  cutFiles,
  type DamageOptions,
  flipBytes,
  restoreStaleChunks,
} from '../../src/testing/disk/damage.ts';
import type * as DamageRig from './damage-rig.ts';
import { importRig } from './import-rig.ts';

const { makeSmallStore, meetAll, startsOfPages } = await importRig<typeof DamageRig>('damage-rig');

/*
 * Invariant: a store with one damaged file gives each answer as it was, or CORRUPT; or it is not opened
 * at all. It never gives another answer. Damage that changes no answer may go unmentioned: it is in
 * bytes that nothing needs any more, such as the frames of the journal that a checkpoint covers.
 */

const JOURNAL = /journal\/[ab]\.wal$/;
/** A plain copy of a document, for others to watch: written, and never read. */
const PUBLISHED = /\/state\.json$/;

describe.each(['closed', 'killed'] as const)('a store that was %s', (how) => {
  let store: DamageRig.SmallStore;
  beforeAll(async () => {
    store = await makeSmallStore(how);
  });

  // What a killed store reads otherwise than a closed one: the rest is met once.
  const special = /journal\/|turns\/(?:open|heads)/;
  const files: DamageOptions = {
    seed: 21,
    only: (path) =>
      !JOURNAL.test(path) && !PUBLISHED.test(path) && (how === 'closed' || special.test(path)),
  };
  const journal: DamageOptions = { seed: 22, only: (path) => JOURNAL.test(path) };

  it('answers every question while it is whole', () => {
    expect(store.answers).not.toContain(undefined);
  });

  it('notices flipped bits in any byte of its files', { timeout: 120_000 }, async () => {
    const { detected } = await meetAll(store, flipBytes(store.disk, files));
    // After a kill the journal, and the other of two checkpoints, make all of these files again.
    expect(detected > 1000).toBe(how === 'closed');
    expect(detected === 0).toBe(how === 'killed');
  });

  it('notices flipped bits in the journal', { timeout: 120_000 }, async () => {
    const sampled = flipBytes(store.disk, { ...journal, perFile: 300 });
    const inFrames = startsOfPages(flipBytes(store.disk, journal), how === 'killed' ? 4 : 30);
    const somewhere = await meetAll(store, sampled);
    const { detected } = await meetAll(store, inFrames);
    expect(somewhere.unchanged).toBeGreaterThan(0);
    // After a clean closing nothing in the journal counts any more.
    expect(detected > 300).toBe(how === 'killed');
    expect(detected === 0).toBe(how === 'closed');
  });

  it('notices files that are cut short', { timeout: 120_000 }, async () => {
    const { detected } = await meetAll(store, cutFiles(store.disk, { ...files, perFile: 100 }));
    expect(detected > 300).toBe(how === 'closed');
    await meetAll(store, cutFiles(store.disk, { ...journal, perFile: 40 }));
  });

  it('notices old bytes that come back', { timeout: 120_000 }, async () => {
    let restored = 0;
    for (const chunkBytes of [16, 64, 128, 512, 4096]) {
      const options = { seed: 23, chunkBytes, only: (path: string) => !PUBLISHED.test(path) };
      const chunks = restoreStaleChunks(store.disk, store.earlier, options);
      const { unchanged, detected } = await meetAll(store, chunks);
      restored += unchanged + detected;
    }
    expect(restored).toBeGreaterThan(30);
  });
});
