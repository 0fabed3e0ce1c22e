import { NO_TURN } from '../base/brand.ts';
import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type { Batch, Change, Committed } from '../engine/batch.ts';
import type {
  BlobSource,
  BlobStored,
  ContextList,
  ContextQuery,
  Engine,
  EngineCapabilities,
  EngineStats,
  Found,
  OpenTurnRow,
  Progress,
  Tips,
  Wanted,
} from '../engine/engine.ts';
import type {
  BlobStat,
  ContextRow,
  DocRow,
  FsRootRow,
  HeadRow,
  LogDamage,
  LogRow,
  PatchRow,
  SalvagedLog,
  TurnRow,
} from '../engine/rows.ts';
import type { Upkeep } from '../engine/upkeep.ts';
import { ChangeFeed } from './change-feed.ts';
import { getInParts } from './get-in-parts.ts';
import { getWhole, readPieces } from './read-remote-blob.ts';
import type { BlobPiece } from './read-remote-blob.ts';
import { RemoteUpkeep } from './remote-upkeep.ts';
import { Requests } from './requests.ts';
import type { Transport } from './transport.ts';

/** The number of records that one call may ask for. Longer lists are put together from several calls. */
const RECORDS_MAX = 10_000;

export interface RemoteEngineOptions {
  /** The time for a request with all its attempts. */
  readonly timeoutMs: number;
}

/**
 * The engine of a server, over any transport. After a lost connection reads are repeated, and commits when that is
 * safe.
 */
export class RemoteEngine implements Engine {
  readonly capabilities: EngineCapabilities = {
    reopen: { missing: 'a client does not own the data' },
    reindex: true,
    backup: true,
    collection: { missing: 'collections run where the data is' },
    adoption: { missing: 'a store is copied where its data is' },
  };
  readonly upkeep: Upkeep = new RemoteUpkeep((...long) => this.runLong(...long));
  readonly #feed: ChangeFeed;
  readonly #requests: Requests;

  constructor(transport: Transport, { timeoutMs }: RemoteEngineOptions) {
    this.#feed = new ChangeFeed(transport);
    this.#requests = new Requests(transport, timeoutMs, this.#feed);
  }

  commit(batch: Batch): Promise<Committed> {
    return this.#requests.commit(batch);
  }

  async hasBlob(hash: Hash): Promise<boolean> {
    return this.#read('hasBlob', hash);
  }

  async statBlob(hash: Hash): Promise<BlobStat | undefined> {
    return this.#read('statBlob', hash);
  }

  async getBlob(hash: Hash): Promise<Uint8Array | undefined> {
    return getWhole(this.#readPiece, hash);
  }

  async viewBlob(hash: Hash): Promise<Uint8Array | undefined> {
    return this.getBlob(hash);
  }

  async *readBlob(
    hash: Hash,
    start: number = 0,
    end: number = Number.MAX_SAFE_INTEGER,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const piece of readPieces(this.#readPiece, hash, { start, end })) {
      this.#requests.assertOpen('readBlob');
      yield piece;
    }
  }

  async putBlob(source: BlobSource): Promise<BlobStored> {
    return (await this.#requests.putBlob(source)) as BlobStored;
  }

  async findBySha256(sha256: string): Promise<Hash | undefined> {
    return this.#read('findBySha256', sha256);
  }

  async getTurn(id: TurnId): Promise<TurnRow | undefined> {
    return this.#read('getTurn', id);
  }

  async walkBack(from: TurnId, limit: number): Promise<readonly TurnRow[]> {
    const rows: TurnRow[] = [];
    for (let next = from; ;) {
      const step = Math.min(RECORDS_MAX, limit - rows.length);
      rows.push(...(await this.#read<TurnRow[]>('walkBack', next, step)));
      next = rows.at(-1)?.parent ?? NO_TURN;
      if (rows.length >= limit || next === NO_TURN) return rows;
    }
  }

  async ancestorAt(turn: TurnId, depth: number): Promise<TurnRow | undefined> {
    return depth < 0 ? undefined : this.#read('ancestorAt', turn, depth);
  }

  async commonAncestor(a: TurnId, b: TurnId): Promise<TurnRow | undefined> {
    return this.#read('commonAncestor', a, b);
  }

  async getOpenTurn(id: TurnId): Promise<OpenTurnRow | undefined> {
    const open = await this.#read<OpenTurnRow | undefined>('getOpenTurn', id);
    return open && { ...open, bytes: new Uint8Array(open.bytes) };
  }

  async getHead(id: ContextId): Promise<HeadRow | undefined> {
    return this.#read('getHead', id);
  }

  async getContext(id: ContextId): Promise<ContextRow | undefined> {
    return this.#read('getContext', id);
  }

  async listContexts(query: ContextQuery): Promise<ContextList> {
    const rows: ContextRow[] = [];
    let cursor = query.cursor;
    do {
      const limit = Math.min(RECORDS_MAX, query.limit - rows.length);
      const page = await this.#read<ContextList>('listContexts', {
        ...query,
        limit,
        ...(cursor !== undefined && { cursor }),
      });
      rows.push(...page.rows);
      cursor = page.cursor;
    } while (cursor !== undefined && rows.length < query.limit);
    return { rows, ...(cursor !== undefined && { cursor }) };
  }

  async getPatches(turns: readonly TurnId[]): Promise<readonly PatchRow[]> {
    const rows = await this.#readOfTurns<PatchRow>('getPatches', turns);
    return rows.toSorted((a, b) => a.seq - b.seq);
  }

  async getFsRoots(turns: readonly TurnId[]): Promise<readonly FsRootRow[]> {
    const rows = await this.#readOfTurns<FsRootRow>('getFsRoots', turns);
    return rows.toSorted((a, b) => a.seq - b.seq);
  }

  async tips(): Promise<Tips> {
    return this.#read('tips');
  }

  async getMany(wanted: Wanted): Promise<Found> {
    return getInParts(wanted, (some) => this.#read('getMany', some));
  }

  async getLog(name: string): Promise<LogRow | undefined> {
    return this.#read('getLog', name);
  }

  async readLog(name: string, from: number, limit: number): Promise<readonly string[]> {
    const lines: string[] = [];
    for (;;) {
      const step = Math.min(RECORDS_MAX, limit - lines.length);
      const read = await this.#read<{ lines: string[]; more: boolean }>(
        'readLog',
        name,
        from + lines.length,
        step,
      );
      lines.push(...read.lines);
      const isCut = read.more || (step === RECORDS_MAX && read.lines.length === step);
      if (!isCut || lines.length >= limit) return lines;
    }
  }

  async salvageLog(name: string, from: number, limit: number): Promise<SalvagedLog | undefined> {
    const page: (string | LogDamage)[] = [];
    for (;;) {
      const step = Math.min(RECORDS_MAX, limit - page.length);
      const read = await this.#read<(SalvagedLog & { more: boolean }) | undefined>(
        'salvageLog',
        name,
        from + page.length,
        step,
      );
      if (read === undefined) return undefined;
      const { more, ...found } = read;
      page.push(...found.page);
      const isCut = more || (step === RECORDS_MAX && found.page.length === step);
      if (!isCut || page.length >= limit) return { ...found, page };
    }
  }

  async listLogs(prefix: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#listNames('listLogs', prefix, limit, after);
  }

  async getDoc(name: string): Promise<DocRow | undefined> {
    return this.#read('getDoc', name);
  }

  async listDocs(prefix: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#listNames('listDocs', prefix, limit, after);
  }

  subscribe(listener: (change: Change) => void, missed?: () => void): () => void {
    this.#requests.assertOpen('subscribe');
    return this.#feed.add(listener, missed);
  }

  async stats(): Promise<EngineStats> {
    return this.#read('stats');
  }

  async checkpoint(): Promise<void> {
    await this.runLong('engine.checkpoint', []);
  }

  async reindex(progress?: Progress): Promise<void> {
    await this.runLong('engine.reindex', [], progress);
  }

  async close(): Promise<void> {
    await this.#requests.close();
  }

  /** A call that only reads. */
  async ask<T>(method: string, args: readonly unknown[]): Promise<T> {
    return (await this.#requests.read(method, args)) as T;
  }

  /** A verb that changes something and must not run twice: it is sent once. */
  async tell<T>(method: string, args: readonly unknown[]): Promise<T> {
    return (await this.#requests.once(method, args)) as T;
  }

  /** A call for work that takes longer than an answer may. */
  async runLong(method: string, args: readonly unknown[], progress?: Progress): Promise<unknown> {
    return this.#requests.runLong(method, args, progress);
  }

  async #read<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return this.ask(`engine.${name}`, args);
  }

  async #readOfTurns<T>(name: string, turns: readonly TurnId[]): Promise<T[]> {
    const rows: T[] = [];
    for (let at = 0; at < turns.length; at += RECORDS_MAX) {
      rows.push(...(await this.#read<T[]>(name, turns.slice(at, at + RECORDS_MAX))));
    }
    return rows;
  }

  async #listNames(
    name: 'listLogs' | 'listDocs',
    prefix: string,
    limit: number,
    after: string | undefined,
  ): Promise<readonly string[]> {
    const names: string[] = [];
    for (let from = after; ; from = names.at(-1)) {
      const step = Math.min(RECORDS_MAX, limit - names.length);
      const found = await this.#read<string[]>(name, prefix, step, from);
      names.push(...found);
      if (found.length < step || names.length >= limit) return names;
    }
  }

  readonly #readPiece = (
    hash: Hash,
    start: number,
    length: number,
  ): Promise<BlobPiece | undefined> => this.#read('readBlob', hash, start, length);
}
