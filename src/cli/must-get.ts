import type { ContextId, TurnId } from '../base/brand.ts';
import { QuipuError } from '../base/errors.ts';
import type { Context } from '../context/context.ts';
import type { ReadOptions } from '../context/contexts.ts';
import type { Turn } from '../context/turns/turn.ts';
import type { Store } from '../store/store.ts';

// Library reads return undefined for an absent thing. A person who names a thing wants to be told that it is absent.

export async function mustGetContext(store: Store, id: ContextId): Promise<Context> {
  const context = await store.contexts.get(id);
  if (context !== undefined) return context;
  throw new QuipuError('NOT_FOUND', `there is no context ${id}`, { what: 'context', id: `${id}` });
}

export async function mustGetTurn(store: Store, id: TurnId, options: ReadOptions): Promise<Turn> {
  const turn = await store.contexts.turn(id, options);
  if (turn !== undefined) return turn;
  throw new QuipuError('NOT_FOUND', `there is no turn ${id}`, { what: 'turn', id: `${id}` });
}
