import { hashToBytes } from '../../../base/hash.ts';
import { keyHashToBytes } from '../../../format/idempotency.ts';
import { jumpDepth } from '../../../format/turn-record.ts';
import { prepared } from '../../../postgres/sql.ts';
import type { Transaction } from '../../../postgres/transaction.ts';
import type { Draft, LogDraft, OpenDraft, StoredTurn } from '../../plan/draft.ts';
import type { Totals } from '../feed/clock.ts';
import type { View } from './view.ts';
import { NO_TURN } from '../../../base/brand.ts';

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

export interface TurnWrites {
  readonly draft: Draft;
  readonly view: View;
  readonly totals: Totals;
  /** The server that is responsible for open turns. */
  readonly owner: string;
}

/** The tree of every turn of the draft, and of the turns that it builds on. */
export type TreeOf = (turn: number) => number;

export function writeTurns(transaction: Transaction, writes: TurnWrites): TreeOf {
  const { draft, view, totals } = writes;
  const turns = new Map<number, StoredTurn>();
  for (const [id, { turn, closed }] of draft.opens.entries()) {
    if (!closed) turns.set(id, { ...turn, idempotency: undefined });
  }
  const keyed: [number, Uint8Array][] = [];
  for (const [id, turn] of draft.turns.entries()) {
    // A turn that is gone in its original store has a number, perhaps a key, and no row.
    if (draft.goneTurns.get(id) === undefined) turns.set(id, turn);
    if (turn.idempotency !== undefined) keyed.push([id, keyHashToBytes(turn.idempotency)]);
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
  if (rows.length > 0) putTurns(transaction, rows, treeOf);
  const fresh = rows.filter(([id]) => view.treeOf(id) === undefined).map(([id]) => id);
  if (fresh.length > 0) transaction.send(PUT_TREES, [fresh, fresh.map(treeOf)]);
  if (keyed.length > 0) {
    transaction.send(PUT_KEYS, [keyed.map(([, key]) => key), keyed.map(([id]) => id)]);
  }
  writeOpen(transaction, [...draft.opens.entries()], writes.owner);
  for (const [id, { row }] of draft.turns.entries()) {
    if (draft.goneTurns.get(id) !== undefined) continue;
    totals.turns += 1;
    totals.logicalBytes += row.size;
  }
  return treeOf;
}

function putTurns(
  transaction: Transaction,
  rows: readonly (readonly [number, StoredTurn])[],
  treeOf: TreeOf,
): void {
  const column = (read: (turn: StoredTurn) => unknown): unknown[] =>
    rows.map(([, turn]) => read(turn));
  transaction.send(PUT_TURNS, [
    rows.map(([id]) => treeOf(id)),
    rows.map(([id]) => id),
    column(({ row }) => row.parent),
    column(({ row }) => row.context),
    column(({ row }) => row.depth),
    column(({ row }) => row.type),
    column(({ row }) => row.version),
    column(({ row }) => row.encoding),
    column(({ row }) => (row.payload === undefined ? null : hashToBytes(row.payload))),
    column(({ row }) => row.size),
    column(({ row }) => row.flags),
    column(({ row }) => row.createdAt),
    column(({ jump }) => jump),
    column(({ row }) => jumpDepth(row.depth)),
    column(({ sideJump }) => sideJump),
    column(({ row }) => jumpDepth(Math.max(0, row.depth - 1))),
    column(({ idempotency }) => (idempotency === undefined ? null : keyHashToBytes(idempotency))),
  ]);
}

function writeOpen(
  transaction: Transaction,
  opens: readonly (readonly [number, OpenDraft])[],
  owner: string,
): void {
  const open = opens.filter(([, { closed }]) => !closed);
  if (open.length > 0) {
    const contexts = open.map(([, { turn }]) => turn.row.context);
    transaction.send(PUT_OPEN, [open.map(([id]) => id), contexts, owner]);
  }
  const deltas = open.flatMap(([id, draft]) => toDeltas(id, draft));
  if (deltas.length > 0) {
    transaction.send(PUT_DELTAS, [
      deltas.map(({ id }) => id),
      deltas.map(({ start }) => start),
      deltas.map(({ bytes }) => bytes),
    ]);
  }
  const closed = opens.filter(([, draft]) => draft.closed && !draft.created).map(([id]) => id);
  if (closed.length === 0) return;
  transaction.send(DROP_OPEN, [closed]);
  transaction.send(DROP_DELTAS, [closed]);
}

function toDeltas(
  id: number,
  { turn, text }: OpenDraft,
): { id: number; start: number; bytes: Uint8Array }[] {
  let start = turn.row.size - text.reduce((sum, piece) => sum + piece.length, 0);
  return text.map((bytes) => {
    const delta = { id, start, bytes: Buffer.from(bytes) };
    start += bytes.length;
    return delta;
  });
}

const PUT_PATCHES = prepared('put-patches')`
  INSERT INTO quipu.patches (turn, seq, fs_root, tombstone, encoding, payload, size, created_at)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::boolean[], $5::bigint[], $6::bytea[],
    $7::bigint[], $8::bigint[])`;

export function writePatches(transaction: Transaction, draft: Draft): void {
  // A patch whose turn is gone has a number and no row.
  const patches = [...draft.patches.entries()]
    .map(([, patch]) => patch)
    .filter(({ turn }) => turn !== NO_TURN && !draft.isGone(Number(turn)));
  if (patches.length === 0) return;
  transaction.send(PUT_PATCHES, [
    patches.map(({ turn }) => turn),
    patches.map(({ seq }) => seq),
    patches.map(({ fsRoot }) => fsRoot),
    patches.map(({ tombstone }) => tombstone),
    patches.map(({ encoding }) => encoding),
    patches.map(({ payload }) => hashToBytes(payload)),
    patches.map(({ size }) => size),
    patches.map(({ createdAt }) => createdAt),
  ]);
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

export interface RecordWrites {
  readonly draft: Draft;
  readonly view: View;
  readonly totals: Totals;
}

export function writeRecords(transaction: Transaction, writes: RecordWrites): void {
  const { draft, view, totals } = writes;
  const logs = [...draft.logs.entries()];
  for (const [name, { state }] of logs) {
    totals.logs += (state === undefined ? 0 : 1) - (view.hadLog(name) ? 1 : 0);
  }
  writeLogs(transaction, logs);
  const docs = [...draft.docs.entries()].map(([, doc]) => doc);
  if (docs.length === 0) return;
  for (const { name, content } of docs) {
    const before = view.findDoc(name);
    totals.docs +=
      (content === undefined ? 0 : 1) - (before === undefined || before.removed ? 0 : 1);
  }
  transaction.send(PUT_DOCS, [
    docs.map(({ name }) => name),
    docs.map(({ version }) => version),
    docs.map(({ content }) => content ?? null),
    docs.map(({ published }) => published),
    draft.nowMs,
  ]);
}

function writeLogs(transaction: Transaction, logs: readonly (readonly [string, LogDraft])[]): void {
  const removed = logs.filter(([, log]) => log.removed).map(([name]) => name);
  if (removed.length > 0) {
    transaction.send(DROP_LOGS, [removed]);
    transaction.send(DROP_LINES, [removed]);
  }
  const kept = logs.flatMap(([name, { state, base, text }]) =>
    state === undefined ? [] : [{ name, state, base, text }],
  );
  if (kept.length === 0) return;
  transaction.send(PUT_LOGS, [
    kept.map(({ name }) => name),
    kept.map(({ state }) => state.lines),
    kept.map(({ state }) => state.bytes),
  ]);
  const lines = kept.flatMap(({ name, base, text }) =>
    text
      .slice(0, -1)
      .split('\n')
      .map((line, at) => ({ name, nth: base.lines + at, line })),
  );
  transaction.send(PUT_LINES, [
    lines.map(({ name }) => name),
    lines.map(({ nth }) => nth),
    lines.map(({ line }) => line),
  ]);
}
