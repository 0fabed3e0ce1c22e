import { hashToBytes } from '../../../base/hash.ts';
import { keyHashToBytes } from '../../../format/idempotency.ts';
import { jumpDepth } from '../../../format/turn-record.ts';
import { prepared } from '../../../postgres/sql.ts';
import { type Transaction, sendRows } from '../../../postgres/transaction.ts';
import type { Draft, OpenDraft, StoredTurn } from '../../plan/draft.ts';
import type { Totals } from '../feed/clock.ts';
import type { View } from './view.ts';
import { NO_TURN } from '../../../base/brand.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import { mustReadContextMeta, fieldsOf } from '../../context-meta.ts';

const PUT_TURNS = prepared('put-turns')`
  INSERT INTO quipu.turns (tree, id, parent, context, depth, type, version, encoding, payload, size, flags,
    created_at, jump, jump_depth, side_jump, side_depth, key)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],
    $7::bigint[], $8::bigint[], $9::bytea[], $10::bigint[], $11::int[], $12::bigint[], $13::bigint[],
    $14::bigint[], $15::bigint[], $16::bigint[], $17::bytea[])
  ON CONFLICT (tree, id) DO UPDATE SET payload = excluded.payload, size = excluded.size, flags = excluded.flags`;

const PUT_TREES = prepared('put-trees')`
  INSERT INTO quipu.turn_trees (id, tree) SELECT * FROM unnest($1::bigint[], $2::bigint[])`;

const PUT_KEYS = prepared('put-keys')`
  INSERT INTO quipu.turn_keys (key, turn) SELECT * FROM unnest($1::bytea[], $2::bigint[])`;

/** The server that writes to a turn is responsible for it from then on. */
const PUT_OPEN = prepared('put-open')`
  INSERT INTO quipu.open_turns (turn, context, owner) SELECT t, c, $3::uuid FROM unnest($1::bigint[], $2::bigint[]) AS o(t, c)
  ON CONFLICT (turn) DO UPDATE SET owner = excluded.owner WHERE open_turns.owner <> excluded.owner`;

const PUT_DELTAS = prepared('put-deltas')`
  INSERT INTO quipu.open_deltas (turn, start, bytes) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])`;

const DROP_OPEN = prepared('drop-open')`
  DELETE FROM quipu.open_turns WHERE turn = ANY($1::bigint[])`;

const DROP_DELTAS = prepared('drop-deltas')`
  DELETE FROM quipu.open_deltas WHERE turn = ANY($1::bigint[])`;

/** What a group of batches writes, beside the blobs. */
export interface GroupWrites {
  readonly draft: Draft;
  readonly view: View;
  readonly seq: number;
  readonly totals: Totals;
  /** The server that is responsible for open turns. */
  readonly owner: string;
}

export function writeRows(transaction: Transaction, writes: GroupWrites): void {
  const treeOf = writeTurns(transaction, writes);
  writeContexts(transaction, writes, treeOf);
  writePatches(transaction, writes.draft);
  writeLogs(transaction, writes);
  writeDocs(transaction, writes);
}

/** The tree of every turn of the draft, and of the turns that it builds on. */
type TreeOf = (turn: number) => number;

function writeTurns(transaction: Transaction, writes: GroupWrites): TreeOf {
  const { draft, view, totals, owner } = writes;
  const turns = new Map<number, StoredTurn>();
  for (const [id, { turn, closed }] of draft.opens.entries()) {
    if (!closed) turns.set(id, { ...turn, idempotency: undefined });
  }
  const keyed: [key: Uint8Array, turn: number][] = [];
  for (const [id, turn] of draft.turns.entries()) {
    // A turn that is gone in its original store has a number, perhaps a key, and no row.
    if (turn.idempotency !== undefined) keyed.push([keyHashToBytes(turn.idempotency), id]);
    if (draft.goneTurns.get(id) !== undefined) continue;
    turns.set(id, turn);
    totals.turns += 1;
    totals.logicalBytes += turn.row.size;
  }

  const trees = new Map<number, number>();
  const treeOf: TreeOf = (id) => {
    const tree = trees.get(id) ?? view.treeOf(id);
    if (tree !== undefined) return tree;
    throw new Error(`turn ${id} was planned with, and nobody asked for its tree`);
  };
  // A parent has a smaller id, so its tree is known by then.
  const rows = [...turns].toSorted(([a], [b]) => a - b);
  for (const [id, { row }] of rows) {
    // A turn that was open has its place, so its parent may never have been read.
    trees.set(id, view.treeOf(id) ?? (row.depth === 0 ? id : treeOf(Number(row.parent))));
  }
  const values = rows.map(([id, { row, jump, sideJump, idempotency }]) => [
    treeOf(id),
    id,
    row.parent,
    row.context,
    row.depth,
    row.type,
    row.version,
    row.encoding,
    row.payload === undefined ? null : hashToBytes(row.payload),
    row.size,
    row.flags,
    row.createdAt,
    jump,
    jumpDepth(row.depth),
    sideJump,
    jumpDepth(Math.max(0, row.depth - 1)),
    idempotency === undefined ? null : keyHashToBytes(idempotency),
  ]);
  sendRows(transaction, PUT_TURNS, values);
  const fresh = rows.filter(([id]) => view.treeOf(id) === undefined);
  const places = fresh.map(([id]) => [id, treeOf(id)]);
  sendRows(transaction, PUT_TREES, places);
  sendRows(transaction, PUT_KEYS, keyed);
  writeOpen(transaction, [...draft.opens.entries()], owner);
  return treeOf;
}

function writeOpen(
  transaction: Transaction,
  opens: readonly (readonly [number, OpenDraft])[],
  owner: string,
): void {
  const open = opens.filter(([, { closed }]) => !closed);
  const contexts = open.map(([id, { turn }]) => [id, turn.row.context]);
  sendRows(transaction, PUT_OPEN, contexts, owner);
  const deltas = open.flatMap(([id, draft]) => toDeltas(id, draft));
  sendRows(transaction, PUT_DELTAS, deltas);
  const closed = opens.filter(([, draft]) => draft.closed && !draft.created).map(([id]) => [id]);
  sendRows(transaction, DROP_OPEN, closed);
  sendRows(transaction, DROP_DELTAS, closed);
}

function toDeltas(id: number, { turn, text }: OpenDraft): unknown[][] {
  let start = turn.row.size - text.reduce((sum, piece) => sum + piece.length, 0);
  return text.map((bytes) => {
    const delta = [id, start, Buffer.from(bytes)];
    start += bytes.length;
    return delta;
  });
}

const PUT_PATCHES = prepared('put-patches')`
  INSERT INTO quipu.patches (turn, seq, fs_root, tombstone, encoding, payload, size, created_at)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::boolean[], $5::bigint[], $6::bytea[],
    $7::bigint[], $8::bigint[])`;

function writePatches(transaction: Transaction, draft: Draft): void {
  const rows = [...draft.patches.entries()]
    .map(([, patch]) => patch)
    // A patch whose turn is gone has a number and no row.
    .filter(({ turn }) => turn !== NO_TURN && !draft.isGone(Number(turn)))
    .map(({ turn, seq, fsRoot, tombstone, encoding, payload, size, createdAt }) => {
      return [turn, seq, fsRoot, tombstone, encoding, hashToBytes(payload), size, createdAt];
    });
  sendRows(transaction, PUT_PATCHES, rows);
}

const DROP_LOGS = prepared('drop-logs')`DELETE FROM quipu.logs WHERE name = ANY($1::text[])`;
const DROP_LINES = prepared('drop-lines')`DELETE FROM quipu.log_lines WHERE name = ANY($1::text[])`;

const PUT_LOGS = prepared('put-logs')`
  INSERT INTO quipu.logs (name, lines, bytes) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[])
  ON CONFLICT (name) DO UPDATE SET lines = excluded.lines, bytes = excluded.bytes`;

const PUT_LINES = prepared('put-lines')`
  INSERT INTO quipu.log_lines (name, nth, line) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])`;

const PUT_DOCS = prepared('put-docs')`
  INSERT INTO quipu.docs (name, version, content, published, updated_at)
  SELECT n.*, $5::bigint FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[]) n
  ON CONFLICT (name) DO UPDATE SET version = excluded.version, content = excluded.content,
    published = excluded.published, updated_at = excluded.updated_at`;

function writeLogs(transaction: Transaction, { draft, view, totals }: GroupWrites): void {
  const removed: [string][] = [];
  const kept: unknown[][] = [];
  const lines: unknown[][] = [];
  for (const [name, log] of draft.logs.entries()) {
    const { state, base, text } = log;
    totals.logs += (state === undefined ? 0 : 1) - (view.hadLog(name) ? 1 : 0);
    if (log.removed) removed.push([name]);
    if (state === undefined) continue;
    kept.push([name, state.lines, state.bytes]);
    const added = text.slice(0, -1).split('\n');
    for (const [at, line] of added.entries()) lines.push([name, base.lines + at, line]);
  }
  sendRows(transaction, DROP_LOGS, removed);
  sendRows(transaction, DROP_LINES, removed);
  sendRows(transaction, PUT_LOGS, kept);
  sendRows(transaction, PUT_LINES, lines);
}

function writeDocs(transaction: Transaction, { draft, view, totals }: GroupWrites): void {
  const rows = [...draft.docs.entries()].map(([name, { version, content, published }]) => {
    const before = view.findDoc(name);
    const wasThere = before !== undefined && !before.removed;
    totals.docs += (content === undefined ? 0 : 1) - (wasThere ? 1 : 0);
    return [name, version, content ?? null, published];
  });
  sendRows(transaction, PUT_DOCS, rows, draft.nowMs);
}

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

function writeContexts(transaction: Transaction, writes: GroupWrites, treeOf: TreeOf): void {
  const { draft, view, seq, totals } = writes;
  const heads = new Map(draft.heads.entries());
  for (const [id] of draft.metas.entries()) {
    const head = heads.get(id) ?? view.peekHead(id);
    if (head !== undefined) heads.set(id, head);
  }
  const treeFor = (turn: number): number => (turn === 0 ? 0 : treeOf(turn));
  const rows = [...heads].map(([id, head]) => {
    const before = view.contextBefore(id);
    const said = draft.metas.get(id);
    const meta = said === undefined ? (before?.meta ?? '{}') : canonicalJson(said);
    const turn = Number(head.head);
    totals.contexts += (head.removed ? 0 : 1) - (before === undefined || before.removed ? 0 : 1);
    return [
      head.id,
      head.head,
      before?.head === turn ? before.head_tree : treeFor(turn),
      head.headDepth,
      head.base,
      head.openTurn,
      head.openBytes,
      head.createdAt,
      head.updatedAt,
      head.removed,
      mustReadContextMeta(meta, id, 'contexts').kind ?? null,
      meta,
    ];
  });
  sendRows(transaction, PUT_CONTEXTS, rows, seq);
  writeMetas(transaction, draft);
}

/** The tables by which contexts are found. */
function writeMetas(transaction: Transaction, draft: Draft): void {
  const metas = [...draft.metas.entries()];
  const isRemoved = (id: number): boolean => draft.heads.get(id)?.removed === true;
  const removed = [...draft.heads.entries()].filter(([id]) => isRemoved(id));
  const said = metas.map(([id]) => [id]);
  sendRows(transaction, DROP_LABELS, said);
  const labels = metas.flatMap(([id, { labels: given = [] }]) =>
    [...new Set(given)].map((label) => [label, id]),
  );
  sendRows(transaction, PUT_LABELS, labels);
  // Old names go first: a context may have got the name that another one had.
  sendRows(transaction, DROP_NAMES, [...said, ...removed.map(([id]) => [id])]);
  const names = metas.flatMap(([id, { name }]) =>
    name === undefined || isRemoved(id) ? [] : [[encodeUtf8(name), id]],
  );
  sendRows(transaction, PUT_NAMES, names);
  sendRows(transaction, DROP_FIELDS, said);
  const fields = metas.flatMap(([id, { meta }]) =>
    fieldsOf(meta).map(({ name, value }) => [name, value, id]),
  );
  sendRows(transaction, PUT_FIELDS, fields);
}
