import { isUtf8 } from 'node:buffer';
import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import { isQuipuError, notFound } from '../../base/errors.ts';
import { hexOf } from '../../base/hash.ts';
import { decodeUtf8 } from '../../base/text.ts';
import type { AppendTurn } from '../../wire/append-turn.ts';
import { NAME_BYTES_MAX } from '../../wire/limits.ts';

// Clients may send any 64 bits as an id. An id that no store hands out counts as missing, like an id that this store
// lacks.

const ID_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** `what` is the name that the message uses for the turn. */
export function turnOf(id: bigint, what = 'turn'): TurnId {
  if (id > 0n && id <= ID_MAX) return id as TurnId;
  throw notFound(what, id);
}

export function contextOf(id: bigint): ContextId {
  if (id > 0n && id <= ID_MAX) return id as ContextId;
  throw notFound('context', id);
}

/** For a turn that a request names in a certain role: the error tells the client this role. */
export function asMissing(error: unknown, what: string): unknown {
  const isTurn = isQuipuError(error, 'NOT_FOUND') && error.data.what === 'turn';
  return isTurn ? notFound(what, error.data.id) : error;
}

/** Longer than any key that is text, so no text key can equal the form of a key of other bytes. */
const BYTES_MARK = 'bytes:'.padEnd(NAME_BYTES_MAX + 1, '.');

/** Turns the bytes of a key on the wire into the text of a key in a store. Different bytes give different texts. */
export function keyText(key: Uint8Array): string {
  return isUtf8(key) ? decodeUtf8(key) : BYTES_MARK + hexOf(key);
}

/** The place of a new turn. Undefined: on the head, whichever turn that is. */
interface Place {
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
