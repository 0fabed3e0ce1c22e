import { toContextId, toTurnId } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { invalid } from '../../base/errors.ts';
import { checkAfter, checkCount, checkRead } from '../check-input.ts';
import { kindOf } from '../../base/text.ts';
import type { ContextsWorld } from '../contexts-world.ts';
import type { Contexts, FollowOptions } from '../contexts.ts';
import { followContext } from './follow-context.ts';
import { followOpenTurn } from './follow-open-turn.ts';
import { STREAM_BYTES_DEFAULT } from '../limits.ts';
import type { Turn } from '../turns/turn.ts';

type FollowVerbs = Pick<Contexts, 'follow' | 'followOpen'>;

export function followVerbs(world: ContextsWorld): FollowVerbs {
  const { engine, lifetime } = world;
  return {
    follow(id: ContextId, options: FollowOptions = {}): AsyncIterable<Turn> {
      lifetime.assertOpen('contexts.follow');
      return followContext(world, {
        context: toContextId(id),
        after: checkAfter(options.after),
        signal: checkSignal(options.signal),
        openTurns: options.openTurns ?? false,
        onBehind: options.onBehind,
        read: checkRead(options, STREAM_BYTES_DEFAULT),
      });
    },

    followOpen(
      turn: TurnId,
      { after = 0, signal }: { readonly after?: number; readonly signal?: AbortSignal } = {},
    ): AsyncIterable<Uint8Array> {
      lifetime.assertOpen('contexts.followOpen');
      checkCount(after, 'after', Number.MAX_SAFE_INTEGER);
      const plan = { id: toTurnId(turn), after, signal: checkSignal(signal) };
      return followOpenTurn(engine, lifetime, plan);
    },
  };
}

function checkSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw invalid('signal', `is an AbortSignal, got ${kindOf(signal)}`);
}
