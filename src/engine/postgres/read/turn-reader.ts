import { QuipuError, notFound } from '../../../base/errors.ts';
import type { ContextId, Hash, TurnId } from '../../../base/brand.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared } from '../../../postgres/sql.ts';
import type { Statement } from '../../../postgres/sql.ts';
import type { TurnReads } from '../../engine.ts';
import type { TurnRow } from '../../rows.ts';
import {
  PATCH_COLUMNS,
  shownColumns,
  shownHash,
  toFsRoots,
  toPatchRow,
  toTurnRow,
  turnColumns,
} from './rows.ts';
import type { OverlayColumns, TurnColumns } from './rows.ts';
import { bytesToHash, hashToBytes } from '../../../base/hash.ts';
import { LruCache } from '../../../base/lru-cache.ts';
import type { BlobReader } from '../blobs/blob-reader.ts';

// Turns by id. A row of its own leads from an id to its tree. So in a cluster every step of a walk stays on the
// machine that has the tree. A walk of any length is one statement.

const TREE_OF = '(SELECT x.tree FROM quipu.turn_trees x WHERE x.id = $1)';

const GET_TURN = prepared('get-turn')`
  SELECT ${shownColumns('t')} FROM quipu.turns t WHERE t.tree = ${TREE_OF} AND t.id = $1`;

const GET_TURNS = prepared('get-turns')`
  SELECT ${shownColumns('t')} FROM quipu.turn_trees x JOIN quipu.turns t ON t.tree = x.tree AND t.id = x.id
  WHERE x.id = ANY($1::bigint[]) ORDER BY x.id`;

const WALK_BACK = prepared('walk-back')`
  WITH RECURSIVE walk AS (
    SELECT ${turnColumns('t')}, 1::bigint AS nth FROM quipu.turns t WHERE t.tree = ${TREE_OF} AND t.id = $1
    UNION ALL
    SELECT ${turnColumns('t')}, w.nth + 1 FROM walk w
      JOIN quipu.turns t ON t.tree = w.tree AND t.id = w.parent WHERE w.nth < $2 AND w.depth > 0
  ) SELECT ${shownColumns('w')} FROM walk w ORDER BY w.nth`;

/** Picks the one of the three pointers of turn `t` that leads closest to the depth. See `stepTowards` in format/turn-record.ts. */
function stepTowards(t: string, depth: string): string {
  return `CASE
    WHEN ${t}.side_depth >= ${depth} AND ${t}.side_depth < ${t}.jump_depth THEN ${t}.side_jump
    WHEN ${t}.jump_depth >= ${depth} THEN ${t}.jump
    WHEN ${t}.side_depth >= ${depth} THEN ${t}.side_jump
    ELSE ${t}.parent END`;
}

const ANCESTOR_AT = prepared('ancestor-at')`
  WITH RECURSIVE climb AS (
    SELECT t.tree, t.id, t.depth, ${stepTowards('t', '$2')} AS next
      FROM quipu.turns t WHERE t.tree = ${TREE_OF} AND t.id = $1 AND t.depth >= $2
    UNION ALL
    SELECT t.tree, t.id, t.depth, ${stepTowards('t', '$2')} FROM climb c
      JOIN quipu.turns t ON t.tree = c.tree AND t.id = c.next WHERE c.depth > $2
  )
  SELECT ${shownColumns('t')} FROM climb c JOIN quipu.turns t ON t.tree = c.tree AND t.id = c.id
    WHERE c.depth = $2`;

/**
 * Both sides climb to the level of the lower one, then climb together. Turns of one depth jump to one depth, so
 * both sides stay level. Where the jumps differ, both sides jump, else they go to their parents. So the walk does
 * not overshoot the meeting point.
 */
const COMMON_ANCESTOR = prepared('common-ancestor')`
  WITH RECURSIVE pair AS (
    SELECT a.tree, a.id AS a, b.id AS b, 0 AS nth FROM quipu.turns a, quipu.turns b
      WHERE a.tree = ${TREE_OF} AND a.id = $1
        AND b.tree = (SELECT x.tree FROM quipu.turn_trees x WHERE x.id = $2) AND b.id = $2 AND a.tree = b.tree
    UNION ALL
    SELECT p.tree,
      CASE WHEN a.depth > b.depth THEN ${stepTowards('a', 'b.depth')}
        WHEN a.depth < b.depth THEN a.id
        WHEN a.jump <> b.jump THEN a.jump ELSE a.parent END,
      CASE WHEN b.depth > a.depth THEN ${stepTowards('b', 'a.depth')}
        WHEN b.depth < a.depth THEN b.id
        WHEN a.jump <> b.jump THEN b.jump ELSE b.parent END,
      p.nth + 1
    FROM pair p JOIN quipu.turns a ON a.tree = p.tree AND a.id = p.a JOIN quipu.turns b ON b.tree = p.tree AND b.id = p.b
    WHERE p.a <> p.b
  )
  SELECT ${shownColumns('t')} FROM pair p JOIN quipu.turns t ON t.tree = p.tree AND t.id = p.a WHERE p.a = p.b`;

const GET_OPEN_TURN = prepared('get-open-turn')`
  SELECT ${turnColumns('t')}, o.turn AS open,
    coalesce((SELECT string_agg(d.bytes, ''::bytea ORDER BY d.start) FROM quipu.open_deltas d WHERE d.turn = $1), ''::bytea) AS text
  FROM quipu.open_turns o, quipu.turns t WHERE o.turn = $1 AND t.tree = ${TREE_OF} AND t.id = $1`;

export interface Turns extends Omit<TurnReads, 'readLast'> {
  /** Those that exist, by rising id. */
  getTurns(ids: readonly TurnId[]): Promise<TurnRow[]>;
}

export function turnReads(database: Database): Turns {
  const one = async (statement: Statement, ...values: unknown[]): Promise<TurnRow | undefined> => {
    const [columns] = await database.query<TurnColumns>(statement, values);
    return columns && toTurnRow(columns);
  };
  return {
    getTurn: (id) => one(GET_TURN, id),

    async getTurns(ids) {
      if (ids.length === 0) return [];
      return (await database.query<TurnColumns>(GET_TURNS, [ids])).map(toTurnRow);
    },

    async walkBack(from, limit) {
      // The walk reads at least the turn itself: the answer depends on whether the turn exists.
      const rows = await database.query<TurnColumns>(WALK_BACK, [from, toCount(limit)]);
      assertWhole(rows, from, limit);
      return rows.slice(0, Math.max(0, limit)).map(toTurnRow);
    },

    async ancestorAt(turn, depth) {
      if (depth < 0 || !Number.isSafeInteger(depth)) return undefined;
      return one(ANCESTOR_AT, turn, depth);
    },

    commonAncestor: (a, b) => one(COMMON_ANCESTOR, a, b),

    async getOpenTurn(id) {
      type Columns = TurnColumns & { text: Uint8Array };
      const [columns] = await database.query<Columns>(GET_OPEN_TURN, [id]);
      if (columns === undefined) return undefined;
      const row = toTurnRow(columns);
      if (row.size === columns.text.length) return { row, bytes: new Uint8Array(columns.text) };
      throw new QuipuError('CORRUPT', `open turn ${id} should hold ${row.size} bytes`, {
        file: 'open_deltas',
        offset: columns.text.length,
      });
    },
  };
}

/** Throws NOT_FOUND when the first turn of a walk is missing, CORRUPT when the walk ends before a root. */
function assertWhole(rows: readonly TurnColumns[], from: TurnId, limit: number): void {
  const last = rows.at(-1);
  if (last === undefined) {
    throw notFound('turn', String(from));
  }
  if (limit <= rows.length || last.depth === 0) return;
  throw new QuipuError('CORRUPT', `turn ${last.parent}, the parent of ${last.id}, is gone`, {
    file: 'turns',
    offset: last.parent,
  });
}

function toCount(limit: number): number {
  return Math.min(Math.max(1, Math.floor(limit)), Number.MAX_SAFE_INTEGER);
}

// Reads the newest turns of a context with everything that a page shows, in one statement. A separate round trip
// for the head, the walk, the patches and the payloads made a page of 20 turns take four times as long.

/** The most bytes of payloads in one answer. A larger page reads the rest in parts, as the reader advances. */
const BYTES_MAX = 4 * 1024 * 1024;
/** The most hashes to remember of the payloads that contexts showed last. */
const HASHES_MAX = 65_536;

/** The blob of turn `w` is joined as `b`. */
const MISSING_ERASED =
  'b.hash IS NULL AND EXISTS (SELECT FROM quipu.erased_blobs gone WHERE gone.hash = w.payload)';

/** The values: context, number of turns, bytes of payloads, payloads that are in the cache. */
const READ_LAST = prepared('read-last')`
  WITH RECURSIVE context AS (
    SELECT c.head, c.head_tree, c.head_depth FROM quipu.contexts c WHERE c.id = $1 AND NOT c.removed
  ), walk AS (
    SELECT ${turnColumns('t')}, 1::bigint AS nth FROM context c
      JOIN quipu.turns t ON t.tree = c.head_tree AND t.id = c.head
    UNION ALL
    SELECT ${turnColumns('t')}, w.nth + 1 FROM walk w
      JOIN quipu.turns t ON t.tree = w.tree AND t.id = w.parent WHERE w.nth < $2 AND w.depth > 0
  )
  SELECT c.head AS context_head, c.head_depth, ${turnColumns('w', shownHash('w.payload', MISSING_ERASED))}, w.nth,
    b.codec, b.size AS raw_size,
    CASE WHEN sum(w.size) OVER (ORDER BY w.nth) <= $3 AND b.hash <> ALL($4::bytea[]) THEN b.bytes END AS bytes,
    (SELECT json_agg(json_build_object('turn', p.turn, 'seq', p.seq, 'tombstone', p.tombstone, 'encoding', p.encoding,
        'payload', encode(p.payload, 'hex'), 'size', p.size, 'created_at', p.created_at, 'fs_root', p.fs_root))
      FROM (SELECT ${PATCH_COLUMNS}, p.fs_root
        FROM quipu.patches p WHERE p.turn = w.id) p) AS overlays
  FROM context c LEFT JOIN walk w ON true LEFT JOIN quipu.blobs b ON b.hash = w.payload ORDER BY w.nth`;

type Overlay = Omit<OverlayColumns, 'payload'> & { readonly payload: string };

interface LastColumns extends TurnColumns {
  readonly context_head: number;
  readonly head_depth: number;
  /** Null in the one row of a context without turns. */
  readonly nth: number | null;
  /** Null when the blob is missing. */
  readonly codec: number | null;
  readonly raw_size: number;
  readonly bytes: Uint8Array | null;
  readonly overlays: readonly Overlay[] | null;
}

export function lastTurnsReader(
  database: Database,
  blobs: BlobReader,
): NonNullable<TurnReads['readLast']> {
  const shown = new LruCache<ContextId, readonly Hash[]>(HASHES_MAX, ({ length }) => length + 1);

  /** The payloads that arrived, and the cached ones that still exist. Any other payload is read by itself. */
  const takeBlobs = (rows: readonly LastColumns[]): Map<Hash, Uint8Array> => {
    const taken = new Map<Hash, Uint8Array>();
    for (const { payload, codec, raw_size: size, bytes } of rows) {
      if (payload === null || codec === null) continue;
      const hash = bytesToHash(payload);
      const piece = bytes === null ? undefined : { hash: payload, codec, size, bytes };
      const whole = blobs.take(hash, piece);
      if (whole !== undefined) taken.set(hash, whole);
    }
    return taken;
  };

  return async (context, limit, maxBytes) => {
    const known = maxBytes === 0 ? [] : blobs.atHand(shown.get(context) ?? []);
    const values = [context, limit, Math.min(maxBytes, BYTES_MAX), known.map(hashToBytes)];
    const rows = await database.query<LastColumns>(READ_LAST, values);
    const [first] = rows;
    if (first === undefined) return undefined;
    const turns = rows.filter(({ nth }) => nth !== null);
    const head = BigInt(first.context_head) as TurnId;
    if (head !== 0n) assertWhole(turns, head, limit);
    const overlays = turns
      .flatMap((row) => row.overlays ?? [])
      .toSorted((a, b) => a.seq - b.seq)
      .map(toOverlay);
    const payloads = maxBytes === 0 ? new Map<Hash, Uint8Array>() : takeBlobs(turns);
    if (maxBytes > 0) shown.set(context, [...payloads.keys()]);
    return {
      headDepth: first.head_depth,
      turns: turns.map(toTurnRow),
      patches: overlays.filter((row) => !row.fs_root).map(toPatchRow),
      fsRoots: toFsRoots(overlays),
      blobs: payloads,
    };
  };
}

function toOverlay(overlay: Overlay): OverlayColumns {
  return { ...overlay, payload: Buffer.from(overlay.payload, 'hex') };
}
