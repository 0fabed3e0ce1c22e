import { describe, expect, it } from 'vitest';
import { makeLargeSession } from './large-session.ts';
import { useSessionRig } from './rig.ts';

const rig = useSessionRig();

describe('a session with many pictures and outputs', () => {
  // A part of it: the whole is among the long runs.
  it('stays small, and its end is read alone', { timeout: 60_000 }, async () => {
    const { store } = await rig();
    const figures = await makeLargeSession(store, { pictures: 12, distinct: 2, outputs: 40 });
    expect(figures.fileBytes).toBeLessThan(200_000);
    expect(figures.storedBytes).toBeLessThan(2_500_000);
    expect(figures.lastMs).toBeLessThan(50);
  });
});
