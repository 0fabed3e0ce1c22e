import { NO_TURN, toContextId } from '../../base/brand.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { ContextChange } from '../../engine/batch.ts';
import type { ContextMeta, ContextRow } from '../../engine/rows.ts';
import type { Draft } from './draft.ts';
import { noteFork } from './fork-keys.ts';

export function applyContext(draft: Draft, change: ContextChange): void {
  switch (change.do) {
    case 'create':
      return create(draft, change);
    case 'describe': {
      const context = draft.state.mustGetContext(change.context);
      draft.updateContext(context, { meta: copyMeta(change.meta) }, false);
      draft.saidContexts.push(change.context);
      return;
    }
    case 'remove': {
      const context = draft.state.mustGetContext(change.context);
      draft.set(draft.state.contexts, change.context, { ...context, removed: true });
      draft.removedContexts.push(change.context);
    }
  }
}

function create(draft: Draft, change: ContextChange & { readonly do: 'create' }): void {
  const { base = NO_TURN, meta = {} } = change;
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
  draft.saidContexts.push(row.id);
  draft.movedContexts.add(row.id);
  noteFork(draft, change, row);
}

/** Keeps only what JSON keeps. The caller's object stays the caller's. */
function copyMeta(meta: ContextMeta): ContextMeta {
  return JSON.parse(canonicalJson(meta)) as ContextMeta;
}
