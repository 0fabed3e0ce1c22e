import { NO_TURN } from '../../../base/brand.ts';
import type { TurnAppend } from '../../../engine/batch.ts';
import type { AppendTurn } from '../../../wire/append-turn.ts';
import { turnOf } from './wire-ids.ts';

/** Parent 0 is the head. With EXPECT_HEAD it must be the head, and 0 means that there is none. */
export function placeOf({
  parent,
  expectHead,
}: Pick<AppendTurn, 'parent' | 'expectHead'>): Pick<TurnAppend, 'parent' | 'expectedHead'> {
  const turn = parent === NO_TURN ? NO_TURN : turnOf(parent, 'parent turn');
  return {
    ...(turn !== NO_TURN && { parent: turn }),
    ...(expectHead && { expectedHead: turn }),
  };
}
