import { NO_TURN } from '../../base/brand.ts';
import { QuipuError, invalid } from '../../base/errors.ts';
import { decodeForkKey, forkKeyName, toForkKey } from '../../format/fork-key.ts';
import type { Batch, ContextChange } from '../batch.ts';
import type { ContextRow } from '../rows.ts';
import type { Draft } from './draft.ts';
import { toHeadRow } from './report.ts';

/** A new context that has an idempotency key. */
export type KeyedCreate = ContextChange & { readonly do: 'create'; readonly key: string };

/** Throws INVALID when the batch has more changes: with a known key none of them would be carried out. */
export function keyedCreate(batch: Omit<Batch, 'blobs'>, blobs: number): KeyedCreate | undefined {
  const keyed = batch.contexts?.find(isKeyed);
  if (keyed === undefined) return undefined;
  const { contexts, ...rest } = batch;
  const isEmpty = (list: unknown): boolean =>
    list === undefined || (Array.isArray(list) && list.length === 0);
  const isAlone =
    contexts?.length === 1 && blobs === 0 && Object.values(rest).every((list) => isEmpty(list));
  if (isAlone) return keyed;
  throw invalid('key', 'stands for one new context, and the batch holds more');
}

/** The context that the key created, as it is now. A key lives as long as its context. */
export function findFork(draft: Draft, change: KeyedCreate): ContextRow | undefined {
  const { base = NO_TURN, key, meta = {} } = change;
  const text = draft.readDoc(forkKeyName(base, key));
  if (text === undefined) return undefined;
  const { context, said } = decodeForkKey(text);
  const head = draft.getHead(context);
  if (head === undefined) return undefined;
  if (said === toForkKey(context, meta).said) {
    return { ...toHeadRow(head), meta: draft.getMeta(context) };
  }
  throw new QuipuError(
    'IDEMPOTENCY_CONFLICT',
    `the key ${JSON.stringify(key)} stands for context ${context}, which was made with other details; use a new key`,
    { context: String(context), key, turn: String(base) },
  );
}

function isKeyed(change: ContextChange): change is KeyedCreate {
  return change.do === 'create' && change.key !== undefined;
}
