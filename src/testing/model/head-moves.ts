import { NO_TURN } from '../../base/brand.ts';
import type { ContextId, TurnId } from '../../base/brand.ts';
import type { ContextChange } from '../../engine/batch.ts';
import {
  LEFT_HEADS_MAX,
  decodeHeadMoves,
  encodeHeadMoves,
  headMovesName,
} from '../../format/head-moves.ts';
import { assertMayMove } from './apply-turns.ts';
import type { Draft } from './draft.ts';
import { ancestorAt } from './walk.ts';

export function applyMove(draft: Draft, change: ContextChange & { readonly do: 'move' }): void {
  const { state } = draft;
  const context = state.mustGetContext(change.context);
  assertMayMove(context, change.expectedHead);
  const { head } = change;
  const headDepth = head === NO_TURN ? 0 : state.mustGetSealedTurn(head).depth;
  draft.saidContexts.add(change.context);
  draft.movedContexts.add(change.context);
  const from = context.row.head;
  if (head === from) return;
  draft.updateContext(context, { head, headDepth }, false);
  draft.moves.push(change.context);
  const after = BigInt(state.turns.size) as TurnId;
  const left = leftHeads(draft, change.context, from).filter(({ turn }) => turn !== head);
  remember(draft, change.context, encodeHeadMoves({ move: { to: head, after }, left }));
}

function leftHeads(
  { state, nowMs }: Draft,
  context: ContextId,
  from: TurnId,
): { turn: TurnId; leftAt: number }[] {
  const text = state.getDoc(headMovesName(context))?.content;
  const before = [...(text === undefined ? [] : (decodeHeadMoves(text)?.left ?? []))];
  const [newest] = before;
  if (from === NO_TURN) return before;
  const { depth } = state.mustGetTurn(from);
  if (newest !== undefined && ancestorAt(state, newest.turn, depth)?.id === from) return before;
  const others = before.filter(({ turn }) => turn !== from);
  return [{ turn: from, leftAt: nowMs }, ...others].slice(0, LEFT_HEADS_MAX);
}

function remember(draft: Draft, context: ContextId, content: string): void {
  const name = headMovesName(context);
  const version = (draft.state.docs.get(name)?.row.version ?? 0) + 1;
  const row = { name, version, content };
  draft.set(draft.state.docs, name, { row, removed: false, published: false });
}

export function forgetMoves(draft: Draft, context: ContextId): void {
  const name = headMovesName(context);
  const doc = draft.state.docs.get(name);
  if (doc !== undefined) draft.set(draft.state.docs, name, { ...doc, removed: true });
}
