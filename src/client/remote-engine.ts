import { NO_TURN } from '../base/brand.ts';
import type { Hash, TurnId } from '../base/brand.ts';
import { notFound, unsupported } from '../base/errors.ts';
import { given } from '../base/given.ts';
import type {
  BlobStored,
  ContextList,
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
  LogDamage,
  PatchRow,
  SalvagedLog,
  TurnRow,
} from '../engine/rows.ts';
import type { BackupReport, CheckReport, Upkeep } from '../engine/upkeep.ts';
import { rowOf } from '../wire/calls.ts';
import type { CallName, EngineMethod } from '../wire/calls.ts';
import { MANY_CONTEXTS_MAX, MANY_RECORDS_MAX } from '../wire/limits.ts';
import { ChangeFeed } from './change-feed.ts';
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
  readonly upkeep: Upkeep;
  readonly #feed: ChangeFeed;
  readonly #requests: Requests;

  constructor(transport: Transport, { timeoutMs }: RemoteEngineOptions) {
    this.#feed = new ChangeFeed(transport);
    this.#requests = new Requests(transport, timeoutMs, this.#feed);
    this.upkeep = remoteUpkeep(this.#requests);
  }

  // Each of these is one call, of the same name.
  readonly hasBlob: Engine['hasBlob'] = this.#sends('hasBlob');
  readonly statBlob: Engine['statBlob'] = this.#sends('statBlob');
  readonly findBySha256: Engine['findBySha256'] = this.#sends('findBySha256');
  readonly getTurn: Engine['getTurn'] = this.#sends('getTurn');
  readonly commonAncestor: Engine['commonAncestor'] = this.#sends('commonAncestor');
  readonly getHead: Engine['getHead'] = this.#sends('getHead');
  readonly getContext: Engine['getContext'] = this.#sends('getContext');
  readonly findContext: Engine['findContext'] = this.#sends('findContext');
  readonly getLog: Engine['getLog'] = this.#sends('getLog');
  readonly getDoc: Engine['getDoc'] = this.#sends('getDoc');
  readonly tips: Engine['tips'] = this.#sends('tips');
  readonly stats: Engine['stats'] = this.#sends('stats');
  readonly checkpoint: Engine['checkpoint'] = this.#sends('checkpoint');
  readonly reindex: Engine['reindex'] = this.#sends('reindex');

  readonly commit: Engine['commit'] = (batch) => this.#requests.commit(batch);

  readonly putBlob: Engine['putBlob'] = async (source) =>
    (await this.#requests.putBlob(source)) as BlobStored;

  readonly getBlob: Engine['getBlob'] = (hash) => getWhole(this.#readPiece, hash);

  readonly viewBlob: Engine['viewBlob'] = (hash) => this.getBlob(hash);

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

  readonly listBlobs: Engine['listBlobs'] = this.#lists('listBlobs');
  readonly listLogs: Engine['listLogs'] = this.#lists('listLogs');
  readonly listDocs: Engine['listDocs'] = this.#lists('listDocs');

  readonly walkBack: Engine['walkBack'] = (from, limit) =>
    gather<TurnRow>(limit, async (step, rows) => {
      const items = await this.#read<TurnRow[]>('walkBack', rows.at(-1)?.parent ?? from, step);
      return { items, more: (items.at(-1)?.parent ?? NO_TURN) !== NO_TURN };
    });

  readonly ancestorAt: Engine['ancestorAt'] = async (turn, depth) =>
    depth < 0 ? undefined : this.#read('ancestorAt', turn, depth);

  readonly getOpenTurn: Engine['getOpenTurn'] = async (id) => {
    const open = await this.#read<OpenTurnRow | undefined>('getOpenTurn', id);
    return open && { ...open, bytes: new Uint8Array(open.bytes) };
  };

  readonly listContexts: Engine['listContexts'] = async ({ count, cursor: start, ...query }) => {
    let cursor = start;
    let total: number | undefined;
    const rows = await gather<ContextRow>(query.limit, async (limit) => {
      const isCounted = count === true && total === undefined;
      const asked = { ...query, limit, ...given({ cursor, count: isCounted || undefined }) };
      const page = await this.#read<ContextList>('listContexts', asked);
      cursor = page.cursor;
      total ??= page.total;
      return { items: page.rows, more: cursor !== undefined };
    });
    return { rows, ...given({ cursor, total }) };
  };

  readonly getPatches: Engine['getPatches'] = (turns) => this.#readOfTurns('getPatches', turns);
  readonly getFsRoots: Engine['getFsRoots'] = (turns) => this.#readOfTurns('getFsRoots', turns);

  readonly getMany: Engine['getMany'] = (wanted) =>
    getInParts(wanted, (some) => this.#read('getMany', some));

  readonly readLog: Engine['readLog'] = (name, from, limit) =>
    gather<string>(limit, async (step, found) => {
      const at = from + found.length;
      const { lines, more } = await this.#read<CutLines>('readLog', name, at, step);
      return { items: lines, more: more || isFull(lines, step) };
    });

  readonly salvageLog: Engine['salvageLog'] = async (name, from, limit) => {
    const page: (string | LogDamage)[] = [];
    for (;;) {
      const step = Math.min(RECORDS_MAX, limit - page.length);
      const at = from + page.length;
      const read = await this.#read<CutLog | undefined>('salvageLog', name, at, step);
      if (read === undefined) return undefined;
      const { more, ...found } = read;
      page.push(...found.page);
      const isCut = more || isFull(found.page, step);
      if (!isCut || page.length >= limit) return { ...found, page };
    }
  };

  readonly subscribe: Engine['subscribe'] = (listener, missed) => {
    this.#requests.assertOpen('subscribe');
    return this.#feed.add(listener, missed);
  };

  close(): Promise<void> {
    return this.#requests.close();
  }

  /** A call that has no method here. */
  async call<T>(name: CallName, args: readonly unknown[]): Promise<T> {
    return (await this.#requests.call(name, args)) as T;
  }

  /** A call for work that takes longer than an answer may. */
  async work<T>(name: CallName, args: readonly unknown[], progress?: Progress): Promise<T> {
    return (await this.#requests.runLong(name, args, progress)) as T;
  }

  #read<T>(method: EngineMethod, ...args: readonly unknown[]): Promise<T> {
    return this.call(`engine.${method}`, args);
  }

  #sends<Method extends EngineMethod>(method: Method): Engine[Method] {
    return sends(() => this.#requests, `engine.${method}`);
  }

  #lists<Name extends string>(method: 'listBlobs' | 'listLogs' | 'listDocs') {
    return (prefix: string, limit: number, after?: Name): Promise<Name[]> =>
      gather<Name>(limit, async (step, names) => {
        const items = await this.#read<Name[]>(method, prefix, step, names.at(-1) ?? after);
        return { items, more: items.length === step };
      });
  }

  /** By rising sequence number, as the engine gives them for one call. */
  async #readOfTurns<T extends { readonly seq: number }>(
    name: EngineMethod,
    turns: readonly TurnId[],
  ): Promise<T[]> {
    const rows: T[] = [];
    for (let at = 0; at < turns.length; at += RECORDS_MAX) {
      rows.push(...(await this.#read<T[]>(name, turns.slice(at, at + RECORDS_MAX))));
    }
    return rows.sort((a, b) => a.seq - b.seq);
  }

  readonly #readPiece: ReadPiece = (hash, start, length) =>
    this.#read('readBlob', hash, start, length);
}

/** Lines of a log. `more` says that the server stopped for the bytes, not at the end. */
interface CutLines {
  readonly lines: string[];
  readonly more: boolean;
}
type CutLog = SalvagedLog & Pick<CutLines, 'more'>;

/** True for all that one call may ask for: there may be more. */
function isFull(found: readonly unknown[], step: number): boolean {
  return step === RECORDS_MAX && found.length === step;
}

/** Puts a list together from several calls. `ask` is told how many items to ask for, and what was found so far. */
async function gather<T>(
  limit: number,
  ask: (
    step: number,
    found: readonly T[],
  ) => Promise<{ readonly items: readonly T[]; readonly more: boolean }>,
): Promise<T[]> {
  const found: T[] = [];
  for (;;) {
    const { items, more } = await ask(Math.min(RECORDS_MAX, limit - found.length), found);
    found.push(...items);
    if (!more || found.length >= limit) return found;
  }
}

/** A function that sends its arguments as a call. Work takes a function for its progress after them. */
function sends<Method>(requests: () => Requests, call: CallName): Method {
  const { kind, args } = rowOf(call);
  const send = (...given: readonly unknown[]): Promise<unknown> => requests().call(call, given);
  const work = (...given: readonly unknown[]): Promise<unknown> =>
    requests().runLong(call, given.slice(0, args.length), given[args.length] as Progress);
  return (kind === 'work' ? work : send) as Method;
}

/** The maintenance of a store, done where the data is. */
function remoteUpkeep(requests: Requests): Upkeep {
  return {
    records: {
      turns: noCopies,
      patches: noCopies,
      docs: noCopies,
      sha256Names: refuseCopies,
      erased: refuseCopies,
    },
    adopt: noCopies,
    startCollection: noCollection,
    check: async ({ repair, progress }) =>
      (await requests.runLong('upkeep.check', [repair], progress)) as CheckReport,
    eraseBlob: sends(() => requests, 'upkeep.eraseBlob'),
    eraseLines: sends(() => requests, 'upkeep.eraseLines'),
    // `to` is a folder on the server's machine.
    async backup(to, progress, also) {
      const report = (await requests.runLong('upkeep.backup', [to], progress)) as BackupReport;
      await also?.();
      return report;
    },
  };
}

async function noCollection(): Promise<never> {
  throw unsupported(
    'collection',
    'a client',
    'a collection runs where the data is; call maintain.gc',
  );
}

async function noCopies(): Promise<never> {
  return refuseCopies();
}

function refuseCopies(): never {
  throw unsupported(
    'copy',
    'a client',
    'a store is copied where its data is: stop the server, and give "quipu copy" its folder or database',
  );
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
