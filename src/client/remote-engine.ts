import { given } from '../base/given.ts';
import { NO_TURN } from '../base/brand.ts';
import type { Hash, TurnId } from '../base/brand.ts';
import type { Batch, Change, Committed } from '../engine/batch.ts';
import type {
  BlobSource,
  BlobStored,
  ContextList,
  ContextQuery,
  Engine,
  EngineCapabilities,
  Found,
  OpenTurnRow,
  Progress,
  Wanted,
} from '../engine/engine.ts';
import type {
  ContextRow,
  HeadRow,
  FsRootRow,
  LogDamage,
  PatchRow,
  SalvagedLog,
  TurnRow,
} from '../engine/rows.ts';
import type { Upkeep } from '../engine/upkeep.ts';
import type { CallName, EngineMethod } from '../wire/calls.ts';
import { MANY_CONTEXTS_MAX, MANY_RECORDS_MAX } from '../wire/limits.ts';
import { ChangeFeed } from './change-feed.ts';
import { Requests } from './requests.ts';
import { SentMethods, remoteUpkeep } from './send-calls.ts';
import type { Transport } from './transport.ts';
import { notFound } from '../base/errors.ts';

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
export class RemoteEngine extends SentMethods implements Engine {
  readonly capabilities: EngineCapabilities = {
    reopen: { missing: 'a client does not own the data' },
    reindex: true,
    backup: true,
    collection: { missing: 'collections run where the data is' },
    adoption: { missing: 'a store is copied where its data is' },
  };
  readonly upkeep: Upkeep;
  readonly #feed: ChangeFeed;
  readonly #requests: Requests;

  constructor(transport: Transport, { timeoutMs }: RemoteEngineOptions) {
    const feed = new ChangeFeed(transport);
    const requests = new Requests(transport, timeoutMs, feed);
    super(requests);
    this.#feed = feed;
    this.#requests = requests;
    this.upkeep = remoteUpkeep(requests);
  }

  commit(batch: Batch): Promise<Committed> {
    return this.#requests.commit(batch);
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

  async listBlobs(prefix: string, limit: number, after?: Hash): Promise<readonly Hash[]> {
    return this.#listNames('listBlobs', prefix, limit, after);
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

  async getOpenTurn(id: TurnId): Promise<OpenTurnRow | undefined> {
    const open = await this.#read<OpenTurnRow | undefined>('getOpenTurn', id);
    return open && { ...open, bytes: new Uint8Array(open.bytes) };
  }

  async listContexts(query: ContextQuery): Promise<ContextList> {
    const rows: ContextRow[] = [];
    const { count, ...asked } = query;
    let cursor = query.cursor;
    let total: number | undefined;
    do {
      const limit = Math.min(RECORDS_MAX, query.limit - rows.length);
      const page = await this.#read<ContextList>('listContexts', {
        ...asked,
        ...(count === true && total === undefined && { count }),
        limit,
        ...(cursor !== undefined && { cursor }),
      });
      rows.push(...page.rows);
      cursor = page.cursor;
      total ??= page.total;
    } while (cursor !== undefined && rows.length < query.limit);
    return {
      rows,
      ...given({ cursor, total }),
    };
  }

  async getPatches(turns: readonly TurnId[]): Promise<readonly PatchRow[]> {
    const rows = await this.#readOfTurns<PatchRow>('getPatches', turns);
    return rows.toSorted((a, b) => a.seq - b.seq);
  }

  async getFsRoots(turns: readonly TurnId[]): Promise<readonly FsRootRow[]> {
    const rows = await this.#readOfTurns<FsRootRow>('getFsRoots', turns);
    return rows.toSorted((a, b) => a.seq - b.seq);
  }

  async getMany(wanted: Wanted): Promise<Found> {
    return getInParts(wanted, (some) => this.#read('getMany', some));
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

  async listDocs(prefix: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#listNames('listDocs', prefix, limit, after);
  }

  subscribe(listener: (change: Change) => void, missed?: () => void): () => void {
    this.#requests.assertOpen('subscribe');
    return this.#feed.add(listener, missed);
  }

  async close(): Promise<void> {
    await this.#requests.close();
  }

  /** A call that has no method here. */
  async call<T>(name: CallName, args: readonly unknown[]): Promise<T> {
    return (await this.#requests.call(name, args)) as T;
  }

  /** A call for work that takes longer than an answer may. */
  async work<T>(name: CallName, args: readonly unknown[], progress?: Progress): Promise<T> {
    return (await this.#requests.runLong(name, args, progress)) as T;
  }

  async #read<T>(method: EngineMethod, ...args: readonly unknown[]): Promise<T> {
    return this.call(`engine.${method}`, args);
  }

  async #readOfTurns<T>(name: EngineMethod, turns: readonly TurnId[]): Promise<T[]> {
    const rows: T[] = [];
    for (let at = 0; at < turns.length; at += RECORDS_MAX) {
      rows.push(...(await this.#read<T[]>(name, turns.slice(at, at + RECORDS_MAX))));
    }
    return rows;
  }

  async #listNames<Name extends string>(
    name: 'listBlobs' | 'listLogs' | 'listDocs',
    prefix: string,
    limit: number,
    after: Name | undefined,
  ): Promise<readonly Name[]> {
    const names: Name[] = [];
    for (let from = after; ; from = names.at(-1)) {
      const step = Math.min(RECORDS_MAX, limit - names.length);
      const found = await this.#read<Name[]>(name, prefix, step, from);
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

/** Gets any number of records, with as many requests as needed: mostly one. */
async function getInParts(
  { contexts = [], heads = [], turns = [], patches = [] }: Wanted,
  ask: (some: Wanted) => Promise<Found>,
): Promise<Found> {
  const found = {
    contexts: [] as ContextRow[],
    heads: [] as HeadRow[],
    turns: [] as TurnRow[],
    patches: [] as PatchRow[],
  };
  for (let nth = 0; ; nth += 1) {
    const someHeads = part(heads, nth, MANY_RECORDS_MAX);
    const some = {
      contexts: part(contexts, nth, MANY_CONTEXTS_MAX),
      turns: part(turns, nth, MANY_RECORDS_MAX),
      patches: part(patches, nth, MANY_RECORDS_MAX),
    };
    const sizes = [...Object.values(some), someHeads].map(({ length }) => length);
    if (sizes.every((size) => size === 0)) return found;
    // An older server knows of no heads.
    const read = await ask({ ...some, ...(someHeads.length > 0 && { heads: someHeads }) });
    found.contexts.push(...read.contexts);
    found.heads.push(...(read.heads ?? []));
    found.turns.push(...read.turns);
    found.patches.push(...read.patches);
  }
}

function part<T>(list: readonly T[], nth: number, size: number): readonly T[] {
  return list.slice(nth * size, (nth + 1) * size);
}

// A blob comes in pieces that the client asks for one by one. So a slow reader fills nobody's memory, and no other
// answer waits behind a long one. After a lost connection the client asks for the next piece.

const PIECE_BYTES = 1_048_576;

interface BlobPiece {
  /** The size of the whole blob. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** Undefined when there is no such blob. */
type ReadPiece = (hash: Hash, start: number, length: number) => Promise<BlobPiece | undefined>;

async function getWhole(read: ReadPiece, hash: Hash): Promise<Uint8Array | undefined> {
  const first = await read(hash, 0, PIECE_BYTES);
  if (first === undefined) return undefined;
  // An array of its own: a small blob would otherwise keep the whole chunk in which it arrived.
  const whole = new Uint8Array(first.size);
  whole.set(first.bytes);
  let at = first.bytes.length;
  if (at < first.size) {
    for await (const piece of readPieces(read, hash, { start: at, end: first.size })) {
      whole.set(piece, at);
      at += piece.length;
    }
  }
  return whole;
}

/** Reads one piece ahead of the reader. */
async function* readPieces(
  read: ReadPiece,
  hash: Hash,
  { start, end }: { readonly start: number; readonly end: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  const ask = (from: number): Promise<BlobPiece | undefined> => {
    const piece = read(hash, from, Math.max(0, Math.min(PIECE_BYTES, end - from)));
    // The reader may stop before it awaits this piece.
    piece.catch(() => undefined);
    return piece;
  };
  let at = start;
  let next = ask(at);
  for (;;) {
    const piece = await next;
    if (piece === undefined) throw notFound('blob', hash);
    at += piece.bytes.length;
    const isLast = piece.bytes.length === 0 || at >= Math.min(end, piece.size);
    if (!isLast) next = ask(at);
    if (piece.bytes.length > 0) yield new Uint8Array(piece.bytes);
    if (isLast) return;
  }
}
