import type { Lifetime } from '../context/lifetime.ts';
import type { Engine, Progress } from '../engine/engine.ts';
import type { Maintain, Stats } from './maintain.ts';

export function createMaintain(engine: Engine, lifetime: Lifetime): Maintain {
  return {
    async stats(): Promise<Stats> {
      lifetime.assertOpen('maintain.stats');
      const stats = await engine.stats();
      const { logicalBytes, storedBytes } = stats;
      return { ...stats, dedupRatio: storedBytes === 0 ? 1 : logicalBytes / storedBytes };
    },

    async checkpoint(): Promise<void> {
      lifetime.assertOpen('maintain.checkpoint');
      await engine.checkpoint();
    },

    async reindex(progress?: Progress): Promise<void> {
      lifetime.assertOpen('maintain.reindex');
      await engine.reindex(progress);
    },
  };
}
