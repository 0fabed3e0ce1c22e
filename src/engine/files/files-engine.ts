import type { Hash } from '../../base/brand.ts';
import { QuipuError, notFound } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import type { StoredTurn } from '../plan/draft.ts';
import { showRoots, showRows, showTurn } from '../rows.ts';
import { through } from '../through.ts';
import type { Writer } from './commit/writer.ts';
import type { Core } from './core/core.ts';
import { toQuipuError } from './disk/io-error.ts';
import { filesUpkeep } from './files-upkeep.ts';
import { findContext, getContext, getHead, getMany, listContexts } from './heads/list-contexts.ts';
import { readLines } from './logs/line-log.ts';
import { salvageLog } from './logs/salvage-log.ts';
import { readOpenText } from './open-turns/open-turns.ts';
import { readPieces } from './packs/blob-reader.ts';
import { readStats } from './read-stats.ts';
import { readSteadily } from './truth/state.ts';
import { ancestorOf, chainBack, commonAncestorOf } from './turns/turn-table.ts';

export interface FilesEngine extends Engine {
  /** The number of turn records requested since the store was opened. Benchmarks count them. */
  readonly turnReads: number;
}

/** The engine over a folder of files. Reads go to `Core`, all writes go to `Writer`. */
export function filesEngine(writer: Writer): FilesEngine {
  const { core } = writer;
  let closing: Promise<void> | undefined;
  const assertOpen = (what: string): void => {
    if (closing === undefined) return;
    throw new QuipuError('CLOSED', `${what} was called after the store was closed`, { what });
  };
  const rethrow = (error: unknown): never => {
    throw toQuipuError(error, core.files.root);
  };
  /** Runs every read. A read is refused after closing. */
  const read = <T>(name: string, work: () => Promise<T>): Promise<T> =>
    readSteadily(writer, () => {
      assertOpen(name);
      return work();
    });
  return {
    capabilities: { reopen: true, reindex: true, backup: true, collection: true, adoption: true },
    upkeep: filesUpkeep(writer),
    ...through(readsOf(core, writer), read),
    ...contentsOf(writer, assertOpen, read),

    get turnReads() {
      return core.turns.reads;
    },

    // The promise is not awaited: each further promise costs a hundredth of the time of a commit among many.
    commit(batch) {
      try {
        assertOpen('commit');
        return writer.commit(batch).catch(rethrow);
      } catch (error) {
        return Promise.reject<never>(error).catch(rethrow);
      }
    },

    async putBlob(source) {
      assertOpen('putBlob');
      return writer.putBlob(source);
    },

    subscribe(listener) {
      assertOpen('subscribe');
      return writer.listeners.add(listener);
    },

    async checkpoint() {
      assertOpen('checkpoint');
      await writer.checkpoint().catch(rethrow);
    },

    async reindex(progress) {
      assertOpen('reindex');
      await writer.reindex(progress).catch(rethrow);
    },

    async close() {
      await (closing ??= writer.close().catch(rethrow));
    },
  };
}

/** The reads of contents: what is in memory is given at once. */
function contentsOf(
  writer: Writer,
  assertOpen: (what: string) => void,
  read: <T>(name: string, work: () => Promise<T>) => Promise<T>,
) {
  const { core } = writer;
  const viewBlob: Engine['viewBlob'] = async (hash, use) => {
    assertOpen('getBlob');
    const cached = core.blobs.peek(hash);
    if (cached !== undefined) return cached;
    return read('getBlob', async () => {
      const bytes = await core.blobs.view(hash, use);
      if (bytes === undefined) core.damage.assertWhole('blobs');
      return bytes;
    });
  };
  return {
    viewBlob,

    async getBlob(hash) {
      const shared = await viewBlob(hash);
      return shared && new Uint8Array(shared);
    },

    peekBlob: (hash) => core.blobs.peek(hash),
    viewBlobs: (hashes) => read('getBlob', () => core.blobs.viewMany(hashes)),

    async *readBlob(hash, start = 0, end = Infinity) {
      if (!(await read('hasBlob', () => hasBlob(core, hash)))) throw notFound('blob', hash);
      try {
        for await (const piece of readPieces(writer, hash, start, end)) {
          assertOpen('readBlob');
          yield piece;
        }
      } catch (error) {
        // The files were closed between two pieces.
        assertOpen('readBlob');
        throw error;
      }
    },
  } satisfies Partial<Engine>;
}

async function hasBlob(core: Core, hash: Hash): Promise<boolean> {
  const found = core.hasBlob(hash);
  if (!found) core.damage.assertWhole('blobs');
  return found;
}

/** The reads that may find a group half way to its files, and are repeated then. */
function readsOf(core: Core, writer: Writer) {
  const mustJumpTo = (id: number): StoredTurn | Promise<StoredTurn> =>
    core.turns.peek(id) ?? mustGet(core, id, true);
  return {
    hasBlob: (hash) => hasBlob(core, hash),

    async statBlob(hash) {
      const stat = await core.blobs.stat(hash);
      if (stat === undefined) core.damage.assertWhole('blobs');
      return stat;
    },

    async findBySha256(sha256) {
      const hash = core.findSha256(sha256);
      // The SHA-256 name of a blob outlives the blob.
      if (hash !== undefined && core.hasBlob(hash)) return hash;
      core.damage.assertWhole(hash === undefined ? 'aliases' : 'blobs');
      return undefined;
    },

    async listBlobs(prefix, limit, after) {
      // A blob that cannot be read could be one of them.
      core.damage.assertWhole('blobs');
      return core.index.flushed().listBlobs(prefix, limit, after);
    },

    getTurn: async (id) => showTurn(core, (await core.findTurn(Number(id)))?.row),

    async walkBack(from, limit) {
      const turn = await core.findTurn(Number(from));
      if (turn === undefined) throw notFound('turn', from);
      const get = (id: number) => core.turns.peek(id) ?? mustGet(core, id);
      return showRows(core, await chainBack(turn, limit, get));
    },

    async ancestorAt(turn, depth) {
      const from = await core.findTurn(Number(turn));
      if (from === undefined || depth < 0 || depth > from.row.depth) return undefined;
      return showTurn(core, (await ancestorOf(from, depth, mustJumpTo)).row);
    },

    async commonAncestor(a, b) {
      const [left, right] = [await core.findTurn(Number(a)), await core.findTurn(Number(b))];
      if (left === undefined || right === undefined) return undefined;
      return showTurn(core, (await commonAncestorOf(left, right, mustJumpTo))?.row);
    },

    async getOpenTurn(id) {
      const turn = core.getOpenTurn(Number(id));
      return turn && { row: turn.row, bytes: await readOpenText(core.files, turn) };
    },

    getHead: (id) => getHead(core, Number(id)),
    getContext: (id) => getContext(core, Number(id)),
    findContext: (name) => findContext(core, name),
    listContexts: (query) => listContexts(core, query),
    getPatches: async (turns) => showRows(core, await core.getPatches(turns)),
    getFsRoots: async (turns) => showRoots(core, await core.getFsRoots(turns)),
    tips: async () => core.tips(),
    getMany: (wanted) => getMany(core, wanted),

    async getLog(name) {
      const state = await core.getLogState(name);
      return state && { name, lines: state.lines, bytes: state.bytes };
    },

    async readLog(name, from, limit) {
      const state = await core.getLogState(name);
      return state === undefined ? [] : readLines(core.files, name, state, { from, limit });
    },

    salvageLog: (name, from, limit) => salvageLog(writer, name, { from, limit }),
    listLogs: async (prefix, limit, after) => core.index.flushed().listLogs(prefix, limit, after),
    getDoc: (name) => core.getDoc(name),
    listDocs: async (prefix, limit, after) => core.listDocs(prefix, limit, after),
    stats: () => readStats(core, writer.durability, writer.journalState),
  } satisfies Partial<Engine>;
}

async function mustGet(core: Core, id: number, alone?: boolean): Promise<StoredTurn> {
  const turn = await core.getSealedTurn(id, alone);
  if (turn === undefined) throw notFound('turn', BigInt(id));
  return turn;
}
