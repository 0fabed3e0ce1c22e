import type { ContextId, Hash, TurnId } from '../../base/brand.ts';
import { QuipuError, notFound } from '../../base/errors.ts';
import type { Batch, Change, Committed } from '../batch.ts';
import type {
  BlobSource,
  BlobStored,
  BlobUse,
  BlobView,
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
} from '../engine.ts';
import type { StoredTurn } from '../plan/draft.ts';
import type {
  BlobStat,
  ContextRow,
  DocRow,
  FsRootRow,
  HeadRow,
  LogRow,
  PatchRow,
  SalvagedLog,
  TurnRow,
} from '../rows.ts';
import { showRoots, showRows, showTurn } from '../show-rows.ts';
import type { Upkeep } from '../upkeep.ts';
import type { Writer } from './commit/writer.ts';
import { toQuipuError } from './disk/io-error.ts';
import { FilesUpkeep } from './files-upkeep.ts';
import { findContext, getContext, getHead, getMany, listContexts } from './heads/list-contexts.ts';
import { readLines } from './logs/line-log.ts';
import { salvageLog } from './logs/salvage-log.ts';
import { readOpenText } from './open-turns/open-turn-file.ts';
import { readPieces } from './packs/blob-reader.ts';
import { readStats } from './read-stats.ts';
import { readSteadily } from './truth/read-steadily.ts';
import { ancestorOf, chainBack, commonAncestorOf } from './turns/ancestors.ts';

/** The engine over a folder of files. Reads go to `Core`, all writes go to `Writer`. */
export class FilesEngine implements Engine {
  readonly capabilities: EngineCapabilities = {
    reopen: true,
    reindex: true,
    backup: true,
    collection: true,
    adoption: true,
  };
  readonly upkeep: Upkeep;
  readonly #writer: Writer;
  #closing: Promise<void> | undefined;

  constructor(writer: Writer) {
    this.#writer = writer;
    this.upkeep = new FilesUpkeep(writer);
  }

  /** The number of turn records requested since the store was opened. Benchmarks count them. */
  get turnReads(): number {
    return this.#writer.core.turns.reads;
  }

  // The promise is not awaited: each further promise costs a hundredth of the time of a commit among many.
  commit(batch: Batch): Promise<Committed> {
    try {
      this.#assertOpen('commit');
      return this.#writer.commit(batch).catch(this.#rethrow);
    } catch (error) {
      return Promise.reject<Committed>(error).catch(this.#rethrow);
    }
  }

  async hasBlob(hash: Hash): Promise<boolean> {
    return this.#read('hasBlob', async (core) => {
      const found = core.hasBlob(hash);
      if (!found) core.damage.assertWhole('blobs');
      return found;
    });
  }

  async statBlob(hash: Hash): Promise<BlobStat | undefined> {
    return this.#read('statBlob', async (core) => {
      const stat = await core.blobs.stat(hash);
      if (stat === undefined) core.damage.assertWhole('blobs');
      return stat;
    });
  }

  async getBlob(hash: Hash): Promise<Uint8Array | undefined> {
    const shared = await this.viewBlob(hash);
    return shared && new Uint8Array(shared);
  }

  peekBlob(hash: Hash): Uint8Array | undefined {
    return this.#writer.core.blobs.peek(hash);
  }

  async viewBlob(hash: Hash, use?: BlobUse): Promise<Uint8Array | undefined> {
    this.#assertOpen('getBlob');
    const cached = this.peekBlob(hash);
    if (cached !== undefined) return cached;
    return this.#read('getBlob', async (core) => {
      const bytes = await core.blobs.view(hash, use);
      if (bytes === undefined) core.damage.assertWhole('blobs');
      return bytes;
    });
  }

  viewBlobs(hashes: readonly Hash[]): Promise<readonly (BlobView | undefined)[]> {
    return this.#read('getBlob', (core) => core.blobs.viewMany(hashes));
  }

  async *readBlob(
    hash: Hash,
    start: number = 0,
    end: number = Infinity,
  ): AsyncGenerator<Uint8Array> {
    if (!(await this.hasBlob(hash))) {
      throw notFound('blob', hash);
    }
    try {
      for await (const piece of readPieces(this.#writer, hash, start, end)) {
        this.#assertOpen('readBlob');
        yield piece;
      }
    } catch (error) {
      // The files were closed between two pieces.
      this.#assertOpen('readBlob');
      throw error;
    }
  }

  async putBlob(source: BlobSource): Promise<BlobStored> {
    this.#assertOpen('putBlob');
    return this.#writer.putBlob(source);
  }

  async findBySha256(sha256: string): Promise<Hash | undefined> {
    return this.#read('findBySha256', async (core) => {
      const hash = core.findSha256(sha256);
      // The SHA-256 name of a blob outlives the blob.
      if (hash !== undefined && core.hasBlob(hash)) return hash;
      core.damage.assertWhole(hash === undefined ? 'aliases' : 'blobs');
      return undefined;
    });
  }

  async listBlobs(prefix: string, limit: number, after?: Hash): Promise<readonly Hash[]> {
    return this.#read('listBlobs', async (core) => {
      // A blob that cannot be read could be one of them.
      core.damage.assertWhole('blobs');
      return core.index.listBlobs(prefix, limit, after);
    });
  }

  async getTurn(id: TurnId): Promise<TurnRow | undefined> {
    return this.#read('getTurn', async (core) =>
      showTurn(core, (await core.findTurn(Number(id)))?.row),
    );
  }

  async walkBack(from: TurnId, limit: number): Promise<readonly TurnRow[]> {
    return this.#read('walkBack', async (core) => {
      const turn = await core.findTurn(Number(from));
      if (turn === undefined) throw notFound('turn', from);
      const mustGet = (id: number) => core.turns.peek(id) ?? this.#mustGet(id);
      return showRows(core, await chainBack(turn, limit, mustGet));
    });
  }

  async ancestorAt(turn: TurnId, depth: number): Promise<TurnRow | undefined> {
    return this.#read('ancestorAt', async (core) => {
      const from = await core.findTurn(Number(turn));
      if (from === undefined || depth < 0 || depth > from.row.depth) return undefined;
      return showTurn(core, (await ancestorOf(from, depth, this.#mustJumpTo)).row);
    });
  }

  async commonAncestor(a: TurnId, b: TurnId): Promise<TurnRow | undefined> {
    return this.#read('commonAncestor', async (core) => {
      const [left, right] = [await core.findTurn(Number(a)), await core.findTurn(Number(b))];
      if (left === undefined || right === undefined) return undefined;
      return showTurn(core, (await commonAncestorOf(left, right, this.#mustJumpTo))?.row);
    });
  }

  async getOpenTurn(id: TurnId): Promise<OpenTurnRow | undefined> {
    return this.#read('getOpenTurn', async (core) => {
      const turn = core.getOpenTurn(Number(id));
      return turn && { row: turn.row, bytes: await readOpenText(core.files, turn) };
    });
  }

  async getHead(id: ContextId): Promise<HeadRow | undefined> {
    return this.#read('getHead', (core) => getHead(core, Number(id)));
  }

  async getContext(id: ContextId): Promise<ContextRow | undefined> {
    return this.#read('getContext', (core) => getContext(core, Number(id)));
  }

  async findContext(name: string): Promise<ContextRow | undefined> {
    return this.#read('findContext', (core) => findContext(core, name));
  }

  async listContexts(query: ContextQuery): Promise<ContextList> {
    return this.#read('listContexts', (core) => listContexts(core, query));
  }

  async getPatches(turns: readonly TurnId[]): Promise<readonly PatchRow[]> {
    return this.#read('getPatches', async (core) => showRows(core, await core.getPatches(turns)));
  }

  async getFsRoots(turns: readonly TurnId[]): Promise<readonly FsRootRow[]> {
    return this.#read('getFsRoots', async (core) => showRoots(core, await core.getFsRoots(turns)));
  }

  async tips(): Promise<Tips> {
    return this.#read('tips', async (core) => core.tips());
  }

  async getMany(wanted: Wanted): Promise<Found> {
    return this.#read('getMany', (core) => getMany(core, wanted));
  }

  async getLog(name: string): Promise<LogRow | undefined> {
    return this.#read('getLog', async (core) => {
      const state = await core.getLogState(name);
      return state === undefined ? undefined : { name, lines: state.lines, bytes: state.bytes };
    });
  }

  async readLog(name: string, from: number, limit: number): Promise<readonly string[]> {
    return this.#read('readLog', async (core) => {
      const state = await core.getLogState(name);
      return state === undefined ? [] : readLines(core.files, name, state, { from, limit });
    });
  }

  async salvageLog(name: string, from: number, limit: number): Promise<SalvagedLog | undefined> {
    return this.#read('salvageLog', () => salvageLog(this.#writer, name, { from, limit }));
  }

  async listLogs(prefix: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#read('listLogs', async (core) => core.index.listLogs(prefix, limit, after));
  }

  async getDoc(name: string): Promise<DocRow | undefined> {
    return this.#read('getDoc', (core) => core.getDoc(name));
  }

  async listDocs(prefix: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#read('listDocs', async (core) => core.listDocs(prefix, limit, after));
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#assertOpen('subscribe');
    return this.#writer.listeners.add(listener);
  }

  async stats(): Promise<EngineStats> {
    const { durability, journalState } = this.#writer;
    return this.#read('stats', (core) => readStats(core, durability, journalState));
  }

  async checkpoint(): Promise<void> {
    this.#assertOpen('checkpoint');
    await this.#writer.checkpoint().catch(this.#rethrow);
  }

  async reindex(progress?: Progress): Promise<void> {
    this.#assertOpen('reindex');
    await this.#writer.reindex(progress).catch(this.#rethrow);
  }

  async close(): Promise<void> {
    await (this.#closing ??= this.#writer.close().catch(this.#rethrow));
  }

  async #mustGet(id: number, alone?: boolean): Promise<StoredTurn> {
    const turn = await this.#writer.core.getSealedTurn(id, alone);
    if (turn === undefined) throw notFound('turn', BigInt(id));
    return turn;
  }

  readonly #mustJumpTo = (id: number): StoredTurn | Promise<StoredTurn> =>
    this.#writer.core.turns.peek(id) ?? this.#mustGet(id, true);

  /** Runs every read. A read is refused after closing. */
  #read<T>(name: string, work: (core: Writer['core']) => Promise<T>): Promise<T> {
    const writer = this.#writer;
    return readSteadily(writer, () => {
      this.#assertOpen(name);
      return work(writer.core);
    });
  }

  readonly #rethrow = (error: unknown): never => {
    throw toQuipuError(error, this.#writer.core.files.root);
  };

  #assertOpen(name: string): void {
    if (this.#closing === undefined) return;
    throw new QuipuError('CLOSED', `${name} was called after the store was closed`, { what: name });
  }
}
