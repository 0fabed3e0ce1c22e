import { prepared, type Sql } from '../../../postgres/sql.ts';
import {
  CONTEXT_COLUMNS,
  GET_DOC,
  toHeadRecord,
  toTreeTurn,
  turnColumns,
  type ContextColumns,
  type TreeTurn,
  type TurnColumns,
} from '../read/rows.ts';
import type { Hash, KeyHash, TurnId } from '../../../base/brand.ts';
import { bytesToHash, hashToBytes, hexOf } from '../../../base/hash.ts';
import { decodeUtf8, encodeUtf8 } from '../../../base/text.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import { TurnFlag } from '../../../format/turn-record.ts';
import { mustReadContextMeta } from '../../context-meta.ts';
import type { CommittedView, DocState, FileKind, LogState, OpenTurn } from '../../plan/draft.ts';
import type { PreparedBatch } from '../../plan/prepared-batch.ts';
import type { ContextMeta } from '../../rows.ts';
import { Known, collectNeeds } from './needs.ts';

// The statements that a group of batches runs before it is planned. Each statement takes lists, so the number of
// statements does not depend on the number of batches.

const FIND_BLOBS = prepared('find-blobs')`
  SELECT hash FROM quipu.blobs WHERE hash = ANY($1::bytea[])`;

const FIND_ERASED = prepared('find-erased')`
  SELECT hash FROM quipu.erased_blobs WHERE hash = ANY($1::bytea[])`;

const FIND_SHA256S = prepared('find-sha256s')`
  SELECT sha256, hash FROM quipu.sha256s WHERE sha256 = ANY($1::bytea[])`;

/** Finds contexts by their ids, and the contexts in which these turns are open. */
const FIND_CONTEXTS = prepared('find-contexts')`
  SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c WHERE c.id = ANY(
  $1::bigint[] || ARRAY(SELECT o.context FROM quipu.open_turns o WHERE o.turn = ANY($2::bigint[])))`;

/** Finds turns by their ids and the heads of these contexts, each together with its jump target. */
const FIND_TURNS = prepared('find-turns')`
  WITH wanted AS (
    SELECT x.tree, x.id FROM quipu.turn_trees x WHERE x.id = ANY($1::bigint[])
    UNION
    SELECT c.head_tree, c.head FROM quipu.contexts c WHERE c.id = ANY($2::bigint[])
  ), found AS MATERIALIZED (
    SELECT ${turnColumns('t')} FROM wanted w JOIN quipu.turns t ON t.tree = w.tree AND t.id = w.id
  )
  SELECT * FROM found
  UNION ALL
  SELECT ${turnColumns('j')} FROM found f JOIN quipu.turns j ON j.tree = f.tree AND j.id = f.jump`;

const FIND_KEYS = prepared('find-keys')`
  SELECT key, turn FROM quipu.turn_keys WHERE key = ANY($1::bytea[])`;

const FIND_NAMES = prepared('find-names')`
  SELECT name, context FROM quipu.context_names WHERE name = ANY($1::bytea[])`;

const FIND_DOCS = prepared('find-docs')`
  SELECT name, version, content IS NULL AS removed FROM quipu.docs WHERE name = ANY($1::text[])`;

const FIND_LOGS = prepared('find-logs')`
  SELECT name, lines, bytes FROM quipu.logs WHERE name = ANY($1::text[])`;

/** A name is a folder when another name begins with it and a slash. `0` is the character after the slash. */
const FIND_FILE_KINDS = prepared('find-file-kinds')`
  SELECT * FROM (
    SELECT n AS name, coalesce(
      (SELECT 'log' FROM quipu.logs l WHERE l.name = n),
      (SELECT 'doc' FROM quipu.docs d WHERE d.name = n AND d.published AND d.content IS NOT NULL),
      (SELECT 'folder' FROM quipu.logs l WHERE l.name > n || '/' AND l.name < n || '0' LIMIT 1),
      (SELECT 'folder' FROM quipu.docs d WHERE d.name > n || '/' AND d.name < n || '0'
        AND d.published AND d.content IS NOT NULL LIMIT 1)
    ) AS kind FROM unnest($1::text[] COLLATE "C") n) kinds WHERE kind IS NOT NULL`;

const READ_OPEN_TEXT = prepared('read-open-text')`
  SELECT bytes FROM quipu.open_deltas WHERE turn = $1 ORDER BY start`;

const NEWEST_PATCH = prepared('newest-patch')`
  SELECT max(seq) AS seq FROM quipu.patches WHERE turn = $1 AND NOT fs_root`;

const FIRST_FS_ROOT = prepared('first-fs-root')`
  SELECT payload FROM quipu.patches WHERE turn = $1 AND fs_root ORDER BY seq LIMIT 1`;

// The store as a group of batches finds it. Nothing moves meanwhile, or the group is planned again. Rows that the
// batches are known to need are read at once. Other rows are read when a plan needs them.

export class View implements CommittedView {
  /** The blobs and turns that the group's batches rely on. A collection in progress must keep them. */
  readonly reliedBlobs: Set<Hash> = new Set();
  readonly reliedTurns: Set<TurnId> = new Set();
  readonly #sql: Sql;
  readonly #nextTurn: () => number;
  readonly #blobs: Known<Hash, true>;
  readonly #erased: Known<Hash, true>;
  readonly #sha256s: Known<string, Hash>;
  readonly #contexts: Known<number, ContextColumns>;
  readonly #turns: Known<number, TreeTurn>;
  readonly #keys: Known<string, number>;
  readonly #names: Known<string, number>;
  readonly #docs: Known<string, DocState>;
  readonly #logs: Known<string, LogState>;
  readonly #fileKinds: Known<string, FileKind>;

  /** `nextTurn` is called after the clock was read. Ids from there on were never handed out. */
  constructor(sql: Sql, nextTurn: () => number) {
    this.#sql = sql;
    this.#nextTurn = nextTurn;
    this.#blobs = new Known(async (hashes) => {
      const rows = await sql.query<{ hash: Uint8Array }>(FIND_BLOBS, [hashes.map(hashToBytes)]);
      return rows.map(({ hash }) => [bytesToHash(hash), true]);
    });
    this.#erased = new Known(async (hashes) => {
      const rows = await sql.query<{ hash: Uint8Array }>(FIND_ERASED, [hashes.map(hashToBytes)]);
      return rows.map(({ hash }) => [bytesToHash(hash), true]);
    });
    this.#sha256s = new Known(async (sha256s) => {
      const bytes = sha256s.map((sha256) => Buffer.from(sha256, 'hex'));
      const rows = await sql.query<{ sha256: Uint8Array; hash: Uint8Array }>(FIND_SHA256S, [bytes]);
      return rows.map(({ sha256, hash }) => [hexOf(sha256), bytesToHash(hash)]);
    });
    this.#contexts = new Known(async (ids) => toPairs(await this.#readContexts(ids, [])), isId);
    this.#turns = new Known((ids) => this.#readTurns(ids, []), isId);
    this.#keys = new Known(async (keys) => {
      const bytes = keys.map((key) => Buffer.from(key, 'hex'));
      const rows = await sql.query<{ key: Uint8Array; turn: number }>(FIND_KEYS, [bytes]);
      return rows.map(({ key, turn }) => [hexOf(key), turn]);
    });
    this.#names = new Known(async (names) => {
      const bytes = names.map(encodeUtf8);
      const rows = await sql.query<{ name: Uint8Array; context: number }>(FIND_NAMES, [bytes]);
      return rows.map(({ name, context }) => [decodeUtf8(name), context]);
    });
    this.#docs = new Known(async (names) => {
      const rows = await sql.query<DocState & { name: string }>(FIND_DOCS, [names]);
      return rows.map(({ name, version, removed }) => [name, { version, removed }]);
    }, isText);
    this.#logs = new Known(async (names) => {
      const rows = await sql.query<LogState & { name: string }>(FIND_LOGS, [names]);
      return rows.map(({ name, lines, bytes }) => [name, { lines, bytes, extents: 0 }]);
    }, isText);
    this.#fileKinds = new Known(async (names) => {
      const rows = await sql.query<{ name: string; kind: FileKind }>(FIND_FILE_KINDS, [names]);
      return rows.map(({ name, kind }) => [name, kind]);
    }, isText);
  }

  /** Reads all that these batches name, in statements that are sent together. */
  async prefetch(batches: readonly PreparedBatch[]): Promise<void> {
    const needs = collectNeeds(batches);
    await Promise.all([
      this.#blobs.load(needs.blobs),
      this.#erased.load(needs.erased),
      this.#sha256s.load(needs.sha256s),
      this.#prefetchContexts(needs.contexts, needs.openTurns),
      this.#prefetchTurns(needs.turns, needs.contexts),
      this.#prefetchKeys(needs.keys),
      this.#names.load(needs.names),
      this.#docs.load(needs.docs),
      this.#logs.load(needs.logs),
      this.#fileKinds.load(needs.files),
    ]);
  }

  hasBlob(hash: Hash): boolean {
    return this.#blobs.need(hash) === true;
  }

  relyOnBlob(hash: Hash): void {
    this.reliedBlobs.add(hash);
  }

  relyOnTurn(turn: TurnId): void {
    this.reliedTurns.add(turn);
  }

  findSha256(sha256: string): Hash | undefined {
    return this.#sha256s.need(sha256);
  }

  peekHead(id: number): HeadRecord | undefined {
    const columns = this.#contexts.peek(id);
    return columns && toHeadRecord(columns);
  }

  async getHead(id: number): Promise<HeadRecord | undefined> {
    await this.#contexts.load([id]);
    return this.peekHead(id);
  }

  peekSealedTurn(id: number): TreeTurn | undefined {
    const turn = this.#turns.peek(id);
    return turn === undefined || isOpen(turn) ? undefined : turn;
  }

  async getSealedTurn(id: number): Promise<TreeTurn | undefined> {
    await this.#turns.load([id]);
    return this.peekSealedTurn(id);
  }

  getOpenTurn(id: number): OpenTurn | undefined {
    const turn = this.#turns.need(id);
    if (turn === undefined || !isOpen(turn)) return undefined;
    const { row, jump, sideJump } = turn;
    return { row, jump, sideJump, deltas: 0 };
  }

  async readOpenTurn({ row }: OpenTurn, start: number, end: number): Promise<Uint8Array> {
    const pieces = await this.#sql.query<{ bytes: Uint8Array }>(READ_OPEN_TEXT, [row.id]);
    return Buffer.concat(pieces.map(({ bytes }) => bytes)).subarray(start, end);
  }

  findKey(key: KeyHash): number | undefined {
    return this.#keys.need(key);
  }

  findName(name: string): number | undefined {
    return this.#names.need(name);
  }

  /** A collected turn has no row. */
  isCollected(turn: number): boolean {
    return isId(turn) && turn < this.#nextTurn() && this.#turns.need(turn) === undefined;
  }

  get erased(): { has(hash: Hash): boolean } {
    return { has: (hash) => this.#erased.need(hash) === true };
  }

  async newestPatch(turn: number): Promise<number> {
    const [row] = await this.#sql.query<{ seq: number | null }>(NEWEST_PATCH, [turn]);
    return row?.seq ?? 0;
  }

  async firstFsRoot(turn: number): Promise<Hash | undefined> {
    const [row] = await this.#sql.query<{ payload: Uint8Array }>(FIRST_FS_ROOT, [turn]);
    return row && bytesToHash(row.payload);
  }

  findDoc(name: string): DocState | undefined {
    return this.#docs.need(name);
  }

  async getDoc(name: string): Promise<{ content: string } | undefined> {
    const [row] = await this.#sql.query<{ content: string }>(GET_DOC, [name]);
    return row;
  }

  async getContextMeta(id: number): Promise<ContextMeta> {
    const columns = await this.#contexts.get(id);
    return mustReadContextMeta(columns?.meta ?? '{}', id, 'contexts');
  }

  async getLogState(name: string): Promise<LogState | undefined> {
    return this.#logs.get(name);
  }

  async hasLog(name: string): Promise<boolean> {
    return (await this.#logs.get(name)) !== undefined;
  }

  async fileKind(name: string): Promise<FileKind | undefined> {
    return this.#fileKinds.get(name);
  }

  /** Rows hold the type itself, so a type has no tag. */
  tagOf(): { tag: string; declared: boolean } {
    return { tag: '', declared: true };
  }

  /** The tree of a turn that a plan has asked for. */
  treeOf(id: number): number | undefined {
    return this.#turns.peek(id)?.tree;
  }

  /** Whether the log was there, if a plan has asked for it. */
  hadLog(name: string): boolean {
    return this.#logs.peek(name) !== undefined;
  }

  /** The context as it was, if a plan has asked for it. */
  contextBefore(id: number): ContextColumns | undefined {
    return this.#contexts.peek(id);
  }

  async #prefetchContexts(ids: ReadonlySet<number>, openTurns: ReadonlySet<number>): Promise<void> {
    if (ids.size + openTurns.size === 0) return;
    const rows = await this.#readContexts([...ids].filter(isId), [...openTurns].filter(isId));
    this.#contexts.learn(ids, toPairs(rows));
  }

  /** Also reads the heads of the contexts, and the jump targets of all these turns. */
  async #prefetchTurns(ids: ReadonlySet<number>, contexts: ReadonlySet<number>): Promise<void> {
    if (ids.size + contexts.size === 0) return;
    this.#turns.learn(
      ids,
      await this.#readTurns([...ids].filter(isId), [...contexts].filter(isId)),
    );
  }

  /** Also reads the turns of the keys that are known, and the turns after them, as retries compare them. */
  async #prefetchKeys(keys: readonly string[]): Promise<void> {
    await this.#keys.load(keys);
    const known = keys.flatMap((key) => this.#keys.peek(key) ?? []);
    if (known.length > 0) await this.#turns.load(known.flatMap((turn) => [turn, turn + 1]));
  }

  async #readContexts(
    ids: readonly number[],
    openTurns: readonly number[],
  ): Promise<readonly ContextColumns[]> {
    return this.#sql.query<ContextColumns>(FIND_CONTEXTS, [ids, openTurns]);
  }

  async #readTurns(
    ids: readonly number[],
    contexts: readonly number[],
  ): Promise<Iterable<readonly [number, TreeTurn]>> {
    const rows = await this.#sql.query<TurnColumns>(FIND_TURNS, [ids, contexts]);
    return rows.map((columns) => [columns.id, toTreeTurn(columns)]);
  }
}

/** True for ids that could have been handed out. Other numbers may not even fit the column. */
function isId(id: number): boolean {
  return Number.isSafeInteger(id) && id > 0;
}

/** PostgreSQL cannot store this one character. */
function isText(text: string): boolean {
  return !text.includes('\0');
}

function isOpen({ row }: TreeTurn): boolean {
  return (row.flags & TurnFlag.OPEN) !== 0;
}

function toPairs(rows: readonly ContextColumns[]): [number, ContextColumns][] {
  return rows.map((columns) => [columns.id, columns]);
}
