import type { ContextId, Hash, TurnId } from '../../../base/brand.ts';
import { QuipuError } from '../../../base/errors.ts';
import { bytesToHash } from '../../../base/hash.ts';
import { encodeUtf8 } from '../../../base/text.ts';
import type { Database } from '../../../postgres/database.ts';
import type { Statement } from '../../../postgres/sql.ts';
import type { ContextList, ContextQuery, EngineStats, Tips } from '../../engine.ts';
import { toHeadRow } from '../../plan/report.ts';
import type {
  ContextRow,
  DocRow,
  FsRootRow,
  HeadRow,
  LogDamage,
  LogRow,
  PatchRow,
  SalvagedLog,
} from '../../rows.ts';
import { listContexts } from './list-contexts.ts';
import type { ContextColumns } from './rows.ts';
import {
  FIND_BY_SHA256,
  FIND_CONTEXT,
  GET_CONTEXT,
  GET_CONTEXTS,
  GET_DOC,
  GET_LOG,
  GET_OVERLAYS,
  GET_PATCHES_AT,
  LIST_DOCS,
  LIST_LOGS,
  READ_LOG,
  STATS,
  TIPS,
  toContextRow,
  toHeadRecord,
} from './rows.ts';

export interface PatchColumns {
  readonly turn: number;
  readonly seq: number;
  readonly tombstone: boolean;
  readonly encoding: number;
  readonly payload: Uint8Array;
  readonly size: number;
  readonly created_at: number;
}

export interface OverlayColumns extends PatchColumns {
  readonly fs_root: boolean;
}

interface LogLineColumns {
  readonly lines: number;
  readonly bytes: number;
  readonly nth: number | null;
  readonly line: string | null;
}

type NameRange = [prefix: string, limit: number, after?: string];

/** Reads everything except turns and blobs. Each answer is one statement, and so of one moment. */
export class RecordReader {
  readonly #database: Database;
  readonly #asked: Map<string, Promise<readonly OverlayColumns[]>> = new Map();

  constructor(database: Database) {
    this.#database = database;
  }

  async findBySha256(sha256: string): Promise<Hash | undefined> {
    const [row] = await this.#database.query<{ hash: Uint8Array }>(FIND_BY_SHA256, [
      Buffer.from(sha256, 'hex'),
    ]);
    return row && bytesToHash(row.hash);
  }

  async getHead(id: ContextId): Promise<HeadRow | undefined> {
    const [row] = await this.#database.query<ContextColumns>(GET_CONTEXT, [id]);
    return row && toHeadRow(toHeadRecord(row));
  }

  async getContext(id: ContextId): Promise<ContextRow | undefined> {
    const [row] = await this.#database.query<ContextColumns>(GET_CONTEXT, [id]);
    return row && toContextRow(row);
  }

  async findContext(name: string): Promise<ContextRow | undefined> {
    const [row] = await this.#database.query<ContextColumns>(FIND_CONTEXT, [encodeUtf8(name)]);
    return row && toContextRow(row);
  }

  async getContexts(ids: readonly ContextId[]): Promise<ContextRow[]> {
    return (await this.#contexts(ids)).map(toContextRow);
  }

  async getHeads(ids: readonly ContextId[]): Promise<HeadRow[]> {
    return (await this.#contexts(ids)).map((row) => toHeadRow(toHeadRecord(row)));
  }

  async #contexts(ids: readonly ContextId[]): Promise<readonly ContextColumns[]> {
    if (ids.length === 0) return [];
    return this.#database.query<ContextColumns>(GET_CONTEXTS, [ids]);
  }

  async getPatches(turns: readonly TurnId[]): Promise<PatchRow[]> {
    const rows = await this.#overlays(turns);
    return rows.filter((row) => !row.fs_root).map(toPatchRow);
  }

  async getPatchesAt(seqs: readonly number[]): Promise<PatchRow[]> {
    const given = seqs.filter((seq) => Number.isSafeInteger(seq));
    if (given.length === 0) return [];
    const rows = await this.#database.query<PatchColumns>(GET_PATCHES_AT, [given]);
    return rows.map(toPatchRow);
  }

  async getFsRoots(turns: readonly TurnId[]): Promise<FsRootRow[]> {
    return toFsRoots(await this.#overlays(turns));
  }

  /** Reads patches and file-system roots. A page asks for both at the same moment, and gets one answer. */
  async #overlays(turns: readonly TurnId[]): Promise<readonly OverlayColumns[]> {
    const key = turns.join();
    const asked = this.#asked.get(key);
    if (asked !== undefined) return asked;
    const answer = this.#database.query<OverlayColumns>(GET_OVERLAYS, [turns]);
    this.#asked.set(key, answer);
    // Later calls send their own statement, because there may be more rows by then.
    queueMicrotask(() => this.#asked.delete(key));
    return answer;
  }

  async tips(): Promise<Tips> {
    const [row] = await this.#database.query<{
      turn: number;
      context: number;
      patch: number;
      open: readonly string[];
    }>(TIPS);
    const { turn = 0, context = 0, patch = 0, open = [] } = row ?? {};
    return {
      turn: BigInt(turn) as TurnId,
      context: BigInt(context),
      patch,
      open: open.map((id) => BigInt(id) as TurnId),
    };
  }

  async getLog(name: string): Promise<LogRow | undefined> {
    const [row] = await this.#database.query<LogRow>(GET_LOG, [name]);
    return row;
  }

  async readLog(name: string, from: number, limit: number): Promise<string[]> {
    const found = await this.salvageLog(name, from, limit);
    return (found?.page ?? []).map((line) => {
      if (typeof line === 'string') return line;
      throw new QuipuError('CORRUPT', `${name}: ${line.what}`, {
        file: line.file,
        offset: line.offset,
      });
    });
  }

  async salvageLog(name: string, from: number, limit: number): Promise<SalvagedLog | undefined> {
    const first = Math.min(from, Number.MAX_SAFE_INTEGER);
    const end = Math.min(from + limit, Number.MAX_SAFE_INTEGER);
    const rows = await this.#database.query<LogLineColumns>(READ_LOG, [name, first, end]);
    const [log] = rows;
    if (log === undefined) return undefined;
    const { lines, bytes } = log;
    const known = new Map(rows.map(({ nth, line }) => [nth, line]));
    const page: (string | LogDamage)[] = [];
    for (let nth = first; nth < Math.min(end, lines); nth += 1) {
      page.push(known.get(nth) ?? missingLine(nth));
    }
    return { lines, bytes, page, damage: page.filter((line) => typeof line !== 'string') };
  }

  async listContexts(query: ContextQuery): Promise<ContextList> {
    return listContexts(this.#database, query);
  }

  async listLogs(...range: NameRange): Promise<string[]> {
    return this.#listNames(LIST_LOGS, ...range);
  }

  async listDocs(...range: NameRange): Promise<string[]> {
    return this.#listNames(LIST_DOCS, ...range);
  }

  /** `~` is greater than every character of a name. */
  async #listNames(statement: Statement, ...[prefix, limit, after]: NameRange): Promise<string[]> {
    const count = Math.min(limit, Number.MAX_SAFE_INTEGER);
    const rows = await this.#database.query<{ name: string }>(statement, [
      prefix,
      `${prefix}~`,
      after ?? '',
      count,
    ]);
    return rows.map(({ name }) => name);
  }

  async getDoc(name: string): Promise<DocRow | undefined> {
    const [row] = await this.#database.query<DocRow>(GET_DOC, [name]);
    return row;
  }

  async stats(): Promise<EngineStats> {
    type Columns = Omit<EngineStats, 'engine' | 'damage' | 'diskBytes'>;
    const { schema } = this.#database.address;
    const [row] = await this.#database.query<Columns>(STATS, [schema]);
    if (row === undefined) throw new Error('the store has no clock');
    const diskBytes = row.disk.reduce((sum, { bytes }) => sum + bytes, 0);
    return { engine: 'postgres', ...row, diskBytes, damage: [] };
  }
}

function missingLine(nth: number): LogDamage {
  return { file: 'log_lines', offset: nth, bytes: 0, what: `line ${nth} is gone` };
}

/** Takes rows by rising number: the last root that a turn was given counts. */
export function toFsRoots(rows: readonly OverlayColumns[]): FsRootRow[] {
  const newest = new Map(rows.filter((row) => row.fs_root).map((row) => [row.turn, row]));
  return [...newest.values()]
    .toSorted((a, b) => a.seq - b.seq)
    .map((row) => ({
      turn: BigInt(row.turn) as TurnId,
      root: bytesToHash(row.payload),
      seq: row.seq,
    }));
}

export function toPatchRow(columns: PatchColumns): PatchRow {
  return {
    seq: columns.seq,
    turn: BigInt(columns.turn) as TurnId,
    tombstone: columns.tombstone,
    encoding: columns.encoding,
    payload: bytesToHash(columns.payload),
    size: columns.size,
    createdAt: columns.created_at,
  };
}
