import { expect, it } from 'vitest';
import { findLoss, marksFirst, writeIndex } from './cut-rig.ts';

/*
 * Invariant: after whichever write a process is killed, the index catches up, and has each turn once.
 * Method: the log of the index is cut off there, and the store is opened. A few of the writes here, all in test/soak.
 */
const CUTS = 12;

it('catches up from where its log was cut off', async () => {
  const written = await writeIndex();
  expect(written.cuts.length).toBeGreaterThan(4 * CUTS);
  const step = Math.floor(written.cuts.length / CUTS);
  for (const cut of written.cuts.filter((_, nth) => nth % step === 0)) {
    expect(await findLoss(written, cut)).toBeUndefined();
  }
});

it('would not with marks that are written first', async () => {
  const written = await writeIndex(marksFirst);
  // The whole log has everything, and one of the cuts before its last commit does not.
  expect(await findLoss(written, written.cuts.at(-1) ?? 0)).toBeUndefined();
  let loss: string | undefined;
  for (const cut of written.cuts.toReversed()) {
    loss = await findLoss(written, cut);
    if (loss !== undefined) break;
  }
  expect(loss).toMatch(/^cut at \d+: /);
});
