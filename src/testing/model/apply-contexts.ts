import { NO_TURN, toContextId } from '../../base/brand.ts';
import type { ContextId } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import { QuipuError } from '../../base/errors.ts';
import type { ContextChange } from '../../engine/batch.ts';
import type { ContextMeta, ContextRow } from '../../engine/rows.ts';
import type { Draft } from './draft.ts';
import { noteFork } from './fork-keys.ts';
import { applyMove, forgetMoves } from './head-moves.ts';

export function applyContext(draft: Draft, change: ContextChange): void {
  switch (change.do) {
    case 'create':
      return create(draft, change);
    case 'describe': {
      const context = draft.state.mustGetContext(change.context);
      const { name } = context.row.meta;
      const meta = { ...change.meta, ...(name !== undefined && { name }) };
      draft.updateContext(context, { meta: copyMeta(meta) }, false);
      draft.saidContexts.add(change.context);
      return;
    }
    case 'rename': {
      const context = draft.state.mustGetContext(change.context);
      const { name: _, ...rest } = context.row.meta;
      const meta = change.name === undefined ? rest : { ...rest, name: change.name };
      assertNameFree(draft, meta, change.context);
      draft.updateContext(context, { meta: copyMeta(meta) }, false);
      draft.saidContexts.add(change.context);
      return;
    }
    case 'move':
      return applyMove(draft, change);
    case 'remove': {
      const context = draft.state.mustGetContext(change.context);
      forgetMoves(draft, change.context);
      draft.set(draft.state.contexts, change.context, { ...context, removed: true });
      draft.removedContexts.push(change.context);
    }
  }
}

function create(draft: Draft, change: ContextChange & { readonly do: 'create' }): void {
  const { base = NO_TURN, meta = {} } = change;
  assertNameFree(draft, meta);
  const headDepth = base === NO_TURN ? 0 : draft.state.mustGetSealedTurn(base).depth;
  const row: ContextRow = {
    id: toContextId(draft.state.contexts.size + 1),
    head: base,
    headDepth,
    base,
    openTurn: NO_TURN,
    createdAt: draft.nowMs,
    updatedAt: draft.nowMs,
    meta: copyMeta(meta),
  };
  draft.set(draft.state.contexts, row.id, { row, removed: false, movedSeq: draft.seq });
  draft.createdContexts.push(row.id);
  draft.saidContexts.add(row.id);
  draft.movedContexts.add(row.id);
  noteFork(draft, change, row);
}

function assertNameFree(draft: Draft, { name }: ContextMeta, own?: ContextId): void {
  const holder = name === undefined ? undefined : draft.state.findContext(name)?.id;
  if (holder === undefined || holder === own) return;
  const data = { what: 'context', id: String(holder) };
  throw new QuipuError('EXISTS', `the name belongs to context ${holder}`, data);
}

/** Keeps only what JSON keeps. The caller's object stays the caller's. */
function copyMeta(meta: ContextMeta): ContextMeta {
  return JSON.parse(canonicalJson(meta)) as ContextMeta;
}
