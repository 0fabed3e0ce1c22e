import { toTurnId } from '../../base/brand.ts';
import type { TurnId } from '../../base/brand.ts';
import { checkBounded } from '../../base/text.ts';
import { checkExpectedSeq, only } from '../check-input.ts';
import type { ContextsWorld } from '../contexts-world.ts';
import type { Contexts, PatchOptions, TombstoneOptions } from '../contexts.ts';
import { REASON_BYTES_MAX } from '../limits.ts';
import { encodePayload } from '../payloads/encode-payload.ts';
import { mustGetTurn } from '../turns/read-turns.ts';
import type { Patch } from './patch.ts';
import { planPatch } from './plan-patch.ts';
import type { PatchPlan } from './plan-patch.ts';
import { StoredPatch } from './stored-patch.ts';

type PatchVerbs = Pick<Contexts, 'patch' | 'tombstone' | 'patches'>;

export function patchVerbs({ engine, lifetime, rules }: ContextsWorld): PatchVerbs {
  async function commitPatch(turn: TurnId, plan: PatchPlan): Promise<Patch> {
    return new StoredPatch(only((await engine.commit(planPatch(turn, plan))).patches));
  }

  return {
    async patch(turn: TurnId, payload: unknown, options: PatchOptions = {}): Promise<Patch> {
      lifetime.assertOpen('contexts.patch');
      return commitPatch(toTurnId(turn), {
        tombstone: false,
        payload: encodePayload(payload, options.encoding, rules),
        ...checkExpectedSeq(options),
      });
    },

    async tombstone(turn: TurnId, reason: string, options: TombstoneOptions = {}): Promise<Patch> {
      lifetime.assertOpen('contexts.tombstone');
      const text = checkBounded(reason, 'reason', REASON_BYTES_MAX);
      return commitPatch(toTurnId(turn), {
        tombstone: true,
        payload: encodePayload(text, 'text', { ...rules, canonicalisers: {} }),
        ...checkExpectedSeq(options),
      });
    },

    async patches(turn: TurnId): Promise<Patch[]> {
      lifetime.assertOpen('contexts.patches');
      const { id } = await mustGetTurn(engine, toTurnId(turn));
      return (await engine.getPatches([id])).map((row) => new StoredPatch(row));
    },
  };
}
