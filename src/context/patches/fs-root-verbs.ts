import { toHash, toTurnId } from '../../base/brand.ts';
import type { Hash, TurnId } from '../../base/brand.ts';
import type { ContextsWorld } from '../contexts-world.ts';
import type { Contexts } from '../contexts.ts';
import { mustGetTurn } from '../turns/read-turns.ts';

type FsRootVerbs = Pick<Contexts, 'attach' | 'fsRoot'>;

export function fsRootVerbs({ engine, lifetime }: ContextsWorld): FsRootVerbs {
  return {
    async attach(turn: TurnId, root: Hash): Promise<void> {
      lifetime.assertOpen('contexts.attach');
      const attach = { turn: toTurnId(turn), root: toHash(root, 'root') };
      await engine.commit({ fsRoots: [attach] });
    },

    async fsRoot(turn: TurnId): Promise<Hash | undefined> {
      lifetime.assertOpen('contexts.fsRoot');
      const { id } = await mustGetTurn(engine, toTurnId(turn));
      return (await engine.getFsRoots([id])).at(-1)?.root;
    },
  };
}
