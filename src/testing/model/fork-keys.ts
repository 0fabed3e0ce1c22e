import { NO_TURN } from '../../base/brand.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import type { Batch, ContextChange } from '../../engine/batch.ts';
import type { ContextRow } from '../../engine/rows.ts';
import { decodeForkKey, encodeForkKey, forkKeyName, toForkKey } from '../../format/fork-key.ts';
import type { Draft } from './draft.ts';
import type { ModelState } from './model-state.ts';

type Create = ContextChange & { readonly do: 'create' };

/** Returns the context that the key of this batch stands for already. Throws when it was made with other details. */
export function findFork(state: ModelState, batch: Batch): ContextRow | undefined {
  const change = batch.contexts?.find(
    (each): each is Create =>
      each.do === 'create' && (each.key !== undefined || each.getNamed !== undefined),
  );
  if (change === undefined) return undefined;
  const lists = Object.values(batch) as unknown[];
  const count = lists.reduce<number>(
    (sum, list) => sum + (Array.isArray(list) ? list.length : 1),
    0,
  );
  if (count > 1) throw invalid('key', 'covers one new context, but the batch creates more');
  const { base = NO_TURN, key, getNamed, meta = {} } = change;
  if (getNamed !== undefined) {
    if (meta.name !== undefined && key === undefined) return state.findContext(meta.name);
    throw invalid('getNamed', 'needs a name, and takes no key');
  }
  if (key === undefined) return undefined;
  const doc = state.getDoc(forkKeyName(base, key));
  if (doc === undefined) return undefined;
  const { context, said } = decodeForkKey(doc.content);
  const row = state.getContext(context);
  if (row === undefined || said === toForkKey(context, meta).said) return row;
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(key)} stands for another context`,
    { context: String(context), key, turn: String(base) },
  );
}

/** Remembers the context that was made with the key of a change. */
export function noteFork(
  draft: Draft,
  { base = NO_TURN, key, meta = {} }: Create,
  row: ContextRow,
): void {
  if (key === undefined) return;
  const name = forkKeyName(base, key);
  const version = (draft.state.docs.get(name)?.row.version ?? 0) + 1;
  const content = encodeForkKey(toForkKey(row.id, meta));
  draft.set(draft.state.docs, name, {
    row: { name, version, content },
    removed: false,
    published: false,
  });
}
