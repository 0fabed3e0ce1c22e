import { bytesToHash } from '../../../base/hash.ts';
import { QuipuError } from '../../../base/errors.ts';
import type { TurnId } from '../../../base/brand.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import type { Database } from '../../../postgres/database.ts';
import { prepared, type Statement } from '../../../postgres/sql.ts';
import type {
  ContextReads,
  DocReads,
  Engine,
  EngineStats,
  LogReads,
  OverlayReads,
} from '../../engine.ts';
import { toHeadRow } from '../../plan/report.ts';
import type { DocRow, LogDamage, LogRow } from '../../rows.ts';
import { listContexts } from './list-contexts.ts';
import {
  CONTEXT_COLUMNS,
  type ContextColumns,
  GET_DOC,
  type OverlayColumns,
  PATCH_COLUMNS,
  type PatchColumns,
  toContextRow,
  toFsRoots,
  toHeadRecord,
  toPatchRow,
} from './rows.ts';
import type { Turns } from './turn-reader.ts';

/** The SHA-256 name of a blob outlives the blob. */
const FIND_BY_SHA256 = prepared('find-by-sha256')`
  SELECT s.hash FROM quipu.sha256s s JOIN quipu.blobs b ON b.hash = s.hash WHERE s.sha256 = $1`;

const GET_CONTEXT = prepared('get-context')`
  SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c WHERE c.id = $1 AND NOT c.removed`;

const FIND_CONTEXT = prepared('find-context')`
  SELECT ${CONTEXT_COLUMNS} FROM quipu.context_names n JOIN quipu.contexts c ON c.id = n.context
  WHERE n.name = $1 AND NOT c.removed`;

const GET_CONTEXTS = prepared('get-contexts')`
  SELECT ${CONTEXT_COLUMNS} FROM quipu.contexts c
  WHERE c.id = ANY($1::bigint[]) AND NOT c.removed ORDER BY c.id`;

const GET_OVERLAYS = prepared('get-overlays')`
  SELECT ${PATCH_COLUMNS}, p.fs_root FROM quipu.patches p WHERE p.turn = ANY($1::bigint[]) ORDER BY p.seq`;

const GET_PATCHES_AT = prepared('get-patches-at')`
  SELECT ${PATCH_COLUMNS} FROM quipu.patches p
  WHERE p.seq = ANY($1::bigint[]) AND NOT p.fs_root ORDER BY p.seq`;

const TIPS = prepared('tips')`
  SELECT next_turn - 1 AS turn, next_context - 1 AS context, next_patch - 1 AS patch,
  ARRAY(SELECT o.turn::text FROM quipu.open_turns o ORDER BY o.turn) AS open FROM quipu.clock`;

const GET_LOG = prepared('get-log')`
  SELECT name, lines, bytes FROM quipu.logs WHERE name = $1`;

/** Also reads the length of the log, so that a missing line is noticed. */
const READ_LOG = prepared('read-log')`
  SELECT l.lines, l.bytes, n.nth, n.line FROM quipu.logs l
  LEFT JOIN quipu.log_lines n ON n.name = l.name AND n.nth >= $2 AND n.nth < $3 WHERE l.name = $1 ORDER BY n.nth`;

const LIST_LOGS = prepared('list-logs')`
  SELECT name FROM quipu.logs WHERE name >= $1 AND name < $2 AND name > $3 ORDER BY name LIMIT $4`;

const LIST_DOCS = prepared('list-docs')`
  SELECT name FROM quipu.docs WHERE name >= $1 AND name < $2 AND name > $3 AND content IS NOT NULL
  ORDER BY name LIMIT $4`;

/** The server's settings decide about durability: a server that does not sync reports `unsafe`. */
const STATS = prepared('stats')`
  SELECT CASE WHEN current_setting('fsync') = 'off' OR current_setting('synchronous_commit') = 'off'
    THEN 'unsafe' ELSE 'safe' END AS durability,
  turns, contexts, next_patch - 1 AS patches, blobs, blob_bytes AS "blobBytes", stored_bytes AS "storedBytes",
  logical_bytes AS "logicalBytes", logs, docs,
  (SELECT coalesce(json_agg(json_build_object('part', part, 'bytes', bytes) ORDER BY bytes DESC, part), '[]')
    FROM (SELECT r.relname AS part, pg_total_relation_size(r.oid) AS bytes FROM pg_class r
      WHERE r.relnamespace = to_regnamespace($1) AND r.relkind = 'r') AS tables) AS disk
  FROM quipu.clock`;

/** Every read of the contract except turns and blobs. */
export type RecordReads = ContextReads &
  OverlayReads &
  LogReads &
  DocReads &
  Pick<Engine, 'findBySha256' | 'getMany' | 'stats' | 'tips'>;

/** Each answer is one statement, and so of one moment. */
export function recordReads(database: Database, turnReads: Turns): RecordReads {
  const overlays = askedOnce((turns: readonly TurnId[]) =>
    database.query<OverlayColumns>(GET_OVERLAYS, [turns]),
  );

  return {
    async findBySha256(sha256) {
      const row = await askOne<{ hash: Uint8Array }>(
        database,
        FIND_BY_SHA256,
        Buffer.from(sha256, 'hex'),
      );
      return row && bytesToHash(row.hash);
    },

    async getHead(id) {
      const row = await askOne<ContextColumns>(database, GET_CONTEXT, id);
      return row && toHeadRow(toHeadRecord(row));
    },

    async getContext(id) {
      const row = await askOne<ContextColumns>(database, GET_CONTEXT, id);
      return row && toContextRow(row);
    },

    async findContext(name) {
      const row = await askOne<ContextColumns>(database, FIND_CONTEXT, encodeUtf8(name));
      return row && toContextRow(row);
    },

    listContexts: (query) => listContexts(database, query),

    async getPatches(turns) {
      const rows = await overlays(turns);
      return rows.filter((row) => !row.fs_root).map(toPatchRow);
    },

    getFsRoots: async (turns) => toFsRoots(await overlays(turns)),

    async tips() {
      type Columns = { turn: number; context: number; patch: number; open: readonly string[] };
      const row = await askOne<Columns>(database, TIPS);
      const { turn = 0, context = 0, patch = 0, open = [] } = row ?? {};
      return {
        turn: BigInt(turn) as TurnId,
        context: BigInt(context),
        patch,
        open: open.map((id) => BigInt(id) as TurnId),
      };
    },

    async getMany({ contexts = [], heads = [], turns = [], patches = [] }) {
      const seqs = patches.filter((seq) => Number.isSafeInteger(seq));
      const [contextRows, headRows, turnRows, patchRows] = await Promise.all([
        ask<ContextColumns>(database, GET_CONTEXTS, contexts),
        ask<ContextColumns>(database, GET_CONTEXTS, heads),
        turnReads.getTurns(turns),
        ask<PatchColumns>(database, GET_PATCHES_AT, seqs),
      ]);
      return {
        contexts: contextRows.map(toContextRow),
        heads: headRows.map((row) => toHeadRow(toHeadRecord(row))),
        turns: turnRows,
        patches: patchRows.map(toPatchRow),
      };
    },

    ...nameReads(database),

    async stats() {
      type Columns = Omit<EngineStats, 'engine' | 'damage' | 'diskBytes'>;
      const row = await askOne<Columns>(database, STATS, database.address.schema);
      if (row === undefined) throw new Error('the store has no clock');
      const diskBytes = row.disk.reduce((sum, { bytes }) => sum + bytes, 0);
      return { engine: 'postgres', ...row, diskBytes, damage: [] };
    },
  };
}

/** The reads of logs and documents. */
function nameReads(database: Database): LogReads & DocReads {
  /** `~` is greater than every character of a name. */
  const listNames =
    (statement: Statement): DocReads['listDocs'] =>
    async (prefix, limit, after = '') => {
      const count = Math.min(limit, Number.MAX_SAFE_INTEGER);
      const values = [prefix, `${prefix}~`, after, count];
      const rows = await database.query<{ name: string }>(statement, values);
      return rows.map(({ name }) => name);
    };

  const salvageLog: LogReads['salvageLog'] = async (name, from, limit) => {
    const first = Math.min(from, Number.MAX_SAFE_INTEGER);
    const end = Math.min(from + limit, Number.MAX_SAFE_INTEGER);
    type Columns = { lines: number; bytes: number; nth: number | null; line: string | null };
    const rows = await database.query<Columns>(READ_LOG, [name, first, end]);
    const [log] = rows;
    if (log === undefined) return undefined;
    const { lines, bytes } = log;
    const known = new Map(rows.map(({ nth, line }) => [nth, line]));
    const page: (string | LogDamage)[] = [];
    for (let nth = first; nth < Math.min(end, lines); nth += 1) {
      page.push(known.get(nth) ?? missingLine(nth));
    }
    return { lines, bytes, page, damage: page.filter((line) => typeof line !== 'string') };
  };

  return {
    getLog: (name) => askOne<LogRow>(database, GET_LOG, name),

    async readLog(name, from, limit) {
      const found = await salvageLog(name, from, limit);
      return (found?.page ?? []).map((line) => {
        if (typeof line === 'string') return line;
        const { file, offset, what } = line;
        throw new QuipuError('CORRUPT', `${name}: ${what}`, { file, offset });
      });
    },

    salvageLog,
    listLogs: listNames(LIST_LOGS),
    getDoc: (name) => askOne<DocRow>(database, GET_DOC, name),
    listDocs: listNames(LIST_DOCS),
  };
}

async function askOne<R extends object>(
  database: Database,
  statement: Statement,
  ...values: unknown[]
): Promise<R | undefined> {
  return (await database.query<R>(statement, values))[0];
}

/** The rows of a statement about these values. No values need no statement. */
async function ask<R extends object>(
  database: Database,
  statement: Statement,
  values: readonly unknown[],
): Promise<readonly R[]> {
  return values.length === 0 ? [] : database.query<R>(statement, [values]);
}

/** A page asks for patches and roots at the same moment, and gets one answer. */
function askedOnce<R>(
  ask: (turns: readonly TurnId[]) => Promise<R>,
): (turns: readonly TurnId[]) => Promise<R> {
  const asked = new Map<string, Promise<R>>();
  return async (turns) => {
    const key = turns.join();
    const known = asked.get(key);
    if (known !== undefined) return known;
    const answer = ask(turns);
    asked.set(key, answer);
    // Later calls send their own statement, because there may be more rows by then.
    queueMicrotask(() => asked.delete(key));
    return answer;
  };
}

function missingLine(nth: number): LogDamage {
  return { file: 'log_lines', offset: nth, bytes: 0, what: `line ${nth} is gone` };
}
