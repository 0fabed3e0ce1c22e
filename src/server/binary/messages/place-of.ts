import { NO_TURN } from '../../../base/brand.ts';
import type { TurnId } from '../../../base/brand.ts';
import type { AppendTurn } from '../../../wire/append-turn.ts';
import { turnOf } from './wire-ids.ts';

/** The place of a new turn. Undefined: on the head, whichever turn that is. */
export interface Place {
  readonly parent: TurnId | undefined;
  readonly expectedHead: TurnId | undefined;
}

const ON_HEAD: Place = { parent: undefined, expectedHead: undefined };

/** Parent 0 is the head. With EXPECT_HEAD the parent must be the head, and 0 means that the context is empty. */
export function placeOf({ parent, expectHead }: Pick<AppendTurn, 'parent' | 'expectHead'>): Place {
  if (parent === NO_TURN && !expectHead) return ON_HEAD;
  const turn = parent === NO_TURN ? NO_TURN : turnOf(parent, 'parent turn');
  return {
    parent: turn === NO_TURN ? undefined : turn,
    expectedHead: expectHead ? turn : undefined,
  };
}
