import { expect, it } from 'vitest';
import { findLoss, writeIndex } from '../search/cut-rig.ts';

/*
 * Invariant: after whichever write a process is killed, the index catches up, and has each turn once.
 */
it('catches up from every place where its log can end', { timeout: 3_600_000 }, async () => {
  const written = await writeIndex();
  for (const cut of written.cuts) expect(await findLoss(written, cut)).toBeUndefined();
});
