import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeCheckpoint } from '../../src/format/journal-frame.ts';
import type { Tails } from '../../src/engine/files/truth/state.ts';
import { Dice, forgerOf } from './forge.ts';
import { attempt, filesIn, makeScenes, meetForged, type Scene } from './forged-store.ts';

// Invariant: whatever a file of a store or a backup says, with right checksums, Quipu answers or gives an error of its
// own, writes nothing outside, and takes no memory or room that is only claimed.
// Method: `forged-store.ts`. fast-check prints the seed and the rolls. The soak has more of them.

let scenes: readonly Scene[];

beforeAll(async () => {
  scenes = await makeScenes();
});

const ROLLS = fc.array(fc.nat(1_000_000), { minLength: 8, maxLength: 8 });

describe('a forged file', { timeout: 120_000 }, () => {
  it('leads to an answer, or to an error that says what to do', async () => {
    const property = fc.asyncProperty(fc.nat(2), ROLLS, async (at, rolls) => {
      expect(await meetForged(scenes, at, rolls)).not.toBe('');
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it('is seen where somebody believes it', async () => {
    const { disk, root } = scenes[1] as Scene;
    const believe = async (rolls: readonly number[]): Promise<void> => {
      const files = filesIn(disk, root);
      forgerOf('journal/checkpoint-a')?.(files, 'journal/checkpoint-a', new Dice(rolls));
      await attempt('open', async () => {
        const found = decodeCheckpoint(files.get('journal/checkpoint-a') ?? Buffer.alloc(0));
        const body = found?.body as { tails: Tails } | undefined;
        body?.tails.packs.map(({ length }) => length);
      });
    };
    const property = fc.asyncProperty(ROLLS, believe);
    await expect(fc.assert(property, { numRuns: 1000 })).rejects.toThrow('Property failed');
  });
});
