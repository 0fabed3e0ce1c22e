import type { ContextId, TurnId } from '../../../base/brand.ts';
import { QuipuError, isQuipuError } from '../../../base/errors.ts';

// Clients may send any 64 bits as an id. An id that no store hands out counts as missing, like an id that this store
// lacks.

const ID_MAX = BigInt(Number.MAX_SAFE_INTEGER);

export function missing(what: string, id: bigint | string): QuipuError<'NOT_FOUND'> {
  return new QuipuError('NOT_FOUND', `there is no ${what} ${id}`, { what, id: String(id) });
}

/** `what` is the name that the message uses for the turn. */
export function turnOf(id: bigint, what = 'turn'): TurnId {
  if (id > 0n && id <= ID_MAX) return id as TurnId;
  throw missing(what, id);
}

export function contextOf(id: bigint): ContextId {
  if (id > 0n && id <= ID_MAX) return id as ContextId;
  throw missing('context', id);
}

/** For a turn that a request names in a certain role: the error tells the client this role. */
export function asMissing(error: unknown, what: string): unknown {
  const isTurn = isQuipuError(error, 'NOT_FOUND') && error.data.what === 'turn';
  return isTurn ? missing(what, error.data.id) : error;
}
