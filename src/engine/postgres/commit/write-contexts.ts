import { canonicalJson } from '../../../base/canonical-json.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { prepared } from '../../../postgres/sql.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import { mustReadContextMeta } from '../../context-meta.ts';
import { fieldsOf } from '../../meta-fields.ts';
import type { Draft } from '../../plan/draft.ts';
import type { Totals } from '../feed/clock.ts';
import type { View } from './view.ts';
import type { TreeOf } from './write-rows.ts';

/** Sets `moved_seq`: a reader that pages through contexts may have passed the old place of a context already. */
const PUT_CONTEXTS = prepared('put-contexts')`
  INSERT INTO quipu.contexts (id, head, head_tree, head_depth, base, open_turn, open_bytes, created_at, updated_at,
    removed, kind, meta, moved_seq)
  SELECT n.*, $13::bigint FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],
    $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::boolean[], $11::text[], $12::text[]) n
  ON CONFLICT (id) DO UPDATE SET head = excluded.head, head_tree = excluded.head_tree,
    head_depth = excluded.head_depth, open_turn = excluded.open_turn, open_bytes = excluded.open_bytes,
    updated_at = excluded.updated_at, removed = excluded.removed, kind = excluded.kind, meta = excluded.meta,
    moved_seq = CASE WHEN contexts.head <> excluded.head OR contexts.updated_at <> excluded.updated_at
      THEN excluded.moved_seq ELSE contexts.moved_seq END`;

const DROP_LABELS = prepared('drop-labels')`
  DELETE FROM quipu.context_labels WHERE context = ANY($1::bigint[])`;

const PUT_LABELS = prepared('put-labels')`
  INSERT INTO quipu.context_labels (label, context) SELECT * FROM unnest($1::text[], $2::bigint[])`;

const DROP_NAMES = prepared('drop-names')`
  DELETE FROM quipu.context_names WHERE context = ANY($1::bigint[])`;

const PUT_NAMES = prepared('put-names')`
  INSERT INTO quipu.context_names (name, context) SELECT * FROM unnest($1::bytea[], $2::bigint[])`;

const DROP_FIELDS = prepared('drop-fields')`
  DELETE FROM quipu.context_fields WHERE context = ANY($1::bigint[])`;

const PUT_FIELDS = prepared('put-fields')`
  INSERT INTO quipu.context_fields (name, value, context)
  SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[])`;

export interface ContextWrites {
  readonly draft: Draft;
  readonly view: View;
  readonly seq: number;
  readonly totals: Totals;
  readonly treeOf: TreeOf;
}

export function writeContexts(transaction: Transaction, writes: ContextWrites): void {
  const { draft, view, seq, totals, treeOf } = writes;
  const heads = new Map(draft.heads.entries());
  for (const [id] of draft.metas.entries()) {
    const head = heads.get(id) ?? view.peekHead(id);
    if (head !== undefined) heads.set(id, head);
  }
  const rows = [...heads].map(([id, head]) => {
    const before = view.contextBefore(id);
    const said = draft.metas.get(id);
    const meta = said === undefined ? (before?.meta ?? '{}') : canonicalJson(said);
    const tree =
      before?.head === Number(head.head) ? before.head_tree : treeFor(Number(head.head), treeOf);
    const kind = mustReadContextMeta(meta, id, 'contexts').kind ?? null;
    totals.contexts += (head.removed ? 0 : 1) - (before === undefined || before.removed ? 0 : 1);
    return { head, tree, kind, meta };
  });
  if (rows.length > 0) {
    const column = (read: (row: (typeof rows)[number]) => unknown): unknown[] => rows.map(read);
    transaction.send(PUT_CONTEXTS, [
      column(({ head }) => head.id),
      column(({ head }) => head.head),
      column(({ tree }) => tree),
      column(({ head }) => head.headDepth),
      column(({ head }) => head.base),
      column(({ head }) => head.openTurn),
      column(({ head }) => head.openBytes),
      column(({ head }) => head.createdAt),
      column(({ head }) => head.updatedAt),
      column(({ head }) => head.removed),
      column(({ kind }) => kind),
      column(({ meta }) => meta),
      seq,
    ]);
  }
  writeLabels(transaction, draft);
  writeNames(transaction, draft);
  writeFields(transaction, draft);
}

function treeFor(head: number, treeOf: TreeOf): number {
  return head === 0 ? 0 : treeOf(head);
}

function writeLabels(transaction: Transaction, draft: Draft): void {
  const metas = [...draft.metas.entries()];
  if (metas.length === 0) return;
  transaction.send(DROP_LABELS, [metas.map(([id]) => id)]);
  const labels = metas.flatMap(([id, { labels: given = [] }]) =>
    [...new Set(given)].map((label) => ({ id, label })),
  );
  if (labels.length === 0) return;
  transaction.send(PUT_LABELS, [labels.map(({ label }) => label), labels.map(({ id }) => id)]);
}

/** Old names go first: a context may have got the name that another one had. */
function writeNames(transaction: Transaction, draft: Draft): void {
  const isRemoved = (id: number): boolean => draft.heads.get(id)?.removed === true;
  const metas = [...draft.metas.entries()].filter(([id]) => !isRemoved(id));
  const removed = [...draft.heads.entries()].filter(([id]) => isRemoved(id));
  const touched = [...metas, ...removed].map(([id]) => id);
  if (touched.length === 0) return;
  transaction.send(DROP_NAMES, [touched]);
  const named = metas.flatMap(([id, { name }]) => (name === undefined ? [] : [{ id, name }]));
  if (named.length === 0) return;
  const names = named.map(({ name }) => encodeUtf8(name));
  transaction.send(PUT_NAMES, [names, named.map(({ id }) => id)]);
}

function writeFields(transaction: Transaction, draft: Draft): void {
  const metas = [...draft.metas.entries()];
  if (metas.length === 0) return;
  transaction.send(DROP_FIELDS, [metas.map(([id]) => id)]);
  const fields = metas.flatMap(([id, { meta }]) =>
    fieldsOf(meta).map((field) => ({ id, ...field })),
  );
  if (fields.length === 0) return;
  transaction.send(PUT_FIELDS, [
    fields.map(({ name }) => name),
    fields.map(({ value }) => value),
    fields.map(({ id }) => id),
  ]);
}
