import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import { QuipuError } from '../base/errors.ts';
import { hashBytes, sha256Hex } from '../base/hash.ts';
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
  Tips,
  Wanted,
} from '../engine/engine.ts';
import {
  type BlobStat,
  type ContextRow,
  type DocRow,
  type FsRootRow,
  type HeadRow,
  type LogRow,
  type PatchRow,
  type SalvagedLog,
  type TurnRow,
  showRoots,
  showRows,
  showTurn,
} from '../engine/rows.ts';
import { applyBatch } from './model/apply-batch.ts';
import { applyBlob } from './model/apply-records.ts';
import { Draft } from './model/draft.ts';
import { listContexts } from './model/list-contexts.ts';
import { ModelState } from './model/model-state.ts';
import { ModelUpkeep } from './model/model-upkeep.ts';
import { pickNames } from './model/pick-names.ts';
import { salvageByHalves } from './model/salvage-by-halves.ts';
import { ancestorAt, commonAncestor, walkBack } from './model/walk.ts';

const READ_PIECE_BYTES = 64 * 1024;

export interface ModelEngineOptions {
  readonly clock?: () => number;
  /** The state of an engine closed before. For this engine it replaces opening a store again. */
  readonly state?: ModelState;
}

/**
 * The contract in its simplest form, in memory. Other engines are compared with this one. A batch is applied within the
 * call that sends it, so calls are answered in the order they come.
 */
export class ModelEngine implements Engine {
  readonly capabilities: EngineCapabilities = {
    reopen: true,
    reindex: { missing: 'the model keeps no accelerator' },
    backup: { missing: 'the model keeps no files' },
    collection: true,
    adoption: true,
  };
  readonly state: ModelState;
  readonly upkeep: ModelUpkeep;
  readonly #clock: () => number;
  readonly #listeners: Set<(change: Change) => void> = new Set();
  #closed = false;

  constructor(options: ModelEngineOptions = {}) {
    this.state = options.state ?? new ModelState();
    this.#clock = options.clock ?? Date.now;
    this.upkeep = new ModelUpkeep(this.state, this.#clock, (what) => this.#assertOpen(what));
    this.interruptOpenTurns();
  }

  async commit(batch: Batch): Promise<Committed> {
    this.#assertOpen('commit');
    const { committed, change } = applyBatch(this.state, batch, this.#clock());
    this.upkeep.noteCommit(batch, committed);
    if (change !== undefined) for (const listener of this.#listeners) listener(change);
    return committed;
  }

  /** Does to open turns what the opening of a store does: nobody can go on writing to them. */
  interruptOpenTurns(): void {
    for (const turn of this.state.openBytes.keys())
      applyBatch(this.state, { seals: [{ turn, outcome: 'interrupted' }] }, this.#clock());
  }

  async hasBlob(hash: Hash): Promise<boolean> {
    this.#assertOpen('hasBlob');
    return this.state.blobs.has(hash);
  }

  async statBlob(hash: Hash): Promise<BlobStat | undefined> {
    this.#assertOpen('statBlob');
    const size = this.state.blobs.get(hash)?.length;
    return size === undefined ? undefined : { hash, size, storedSize: size, chunks: 0 };
  }

  async getBlob(hash: Hash): Promise<Uint8Array | undefined> {
    this.#assertOpen('getBlob');
    return this.state.blobs.get(hash)?.slice();
  }

  async viewBlob(hash: Hash): Promise<Uint8Array | undefined> {
    this.#assertOpen('viewBlob');
    return this.state.blobs.get(hash);
  }

  async *readBlob(hash: Hash, start = 0, end: number = Infinity): AsyncGenerator<Uint8Array> {
    this.#assertOpen('readBlob');
    this.state.assertBlob(hash);
    const range = this.state.blobs.get(hash)?.slice(start, end) ?? new Uint8Array();
    for (let at = 0; at < range.length; at += READ_PIECE_BYTES)
      yield range.slice(at, at + READ_PIECE_BYTES);
  }

  async putBlob(source: BlobSource): Promise<BlobStored> {
    this.#assertOpen('putBlob');
    const pieces: Uint8Array[] = [];
    for await (const piece of source.chunks) pieces.push(new Uint8Array(piece));
    const bytes = new Uint8Array(Buffer.concat(pieces));
    const hash = hashBytes(bytes);
    const existed = this.state.blobs.has(hash);
    const said = source.sha256 === true ? { sha256: sha256Hex(bytes) } : {};
    const nowMs = Math.max(this.state.timeMs, this.#clock());
    applyBlob(new Draft(this.state, nowMs), { hash, bytes, ...said });
    this.upkeep.noteBlob(hash);
    return { hash, size: bytes.length, storedSize: bytes.length, chunks: 0, existed, ...said };
  }

  async findBySha256(sha256: string): Promise<Hash | undefined> {
    this.#assertOpen('findBySha256');
    return this.state.sha256.get(sha256);
  }

  async listBlobs(prefix: string, limit: number, after = ''): Promise<readonly Hash[]> {
    this.#assertOpen('listBlobs');
    return pickNames(this.state.blobs.keys(), prefix, after).slice(0, limit) as Hash[];
  }

  async getTurn(id: TurnId): Promise<TurnRow | undefined> {
    this.#assertOpen('getTurn');
    return showTurn(this.state, this.state.getTurn(id));
  }

  async walkBack(from: TurnId, limit: number): Promise<readonly TurnRow[]> {
    this.#assertOpen('walkBack');
    return showRows(this.state, walkBack(this.state, from, limit));
  }

  async ancestorAt(turn: TurnId, depth: number): Promise<TurnRow | undefined> {
    this.#assertOpen('ancestorAt');
    return showTurn(this.state, ancestorAt(this.state, turn, depth));
  }

  async commonAncestor(a: TurnId, b: TurnId): Promise<TurnRow | undefined> {
    this.#assertOpen('commonAncestor');
    return showTurn(this.state, commonAncestor(this.state, a, b));
  }

  async getOpenTurn(id: TurnId): Promise<OpenTurnRow | undefined> {
    this.#assertOpen('getOpenTurn');
    const row = this.state.getTurn(id);
    const bytes = this.state.openBytes.get(id);
    return row === undefined || bytes === undefined ? undefined : { row, bytes: bytes.slice() };
  }

  async getHead(id: ContextId): Promise<HeadRow | undefined> {
    this.#assertOpen('getHead');
    return this.state.getContext(id);
  }

  async getContext(id: ContextId): Promise<ContextRow | undefined> {
    this.#assertOpen('getContext');
    return this.state.getContext(id);
  }

  async findContext(name: string): Promise<ContextRow | undefined> {
    this.#assertOpen('findContext');
    return this.state.findContext(name);
  }

  async listContexts(query: ContextQuery): Promise<ContextList> {
    this.#assertOpen('listContexts');
    return listContexts(this.state, query);
  }

  async getPatches(turns: readonly TurnId[]): Promise<readonly PatchRow[]> {
    this.#assertOpen('getPatches');
    const rows = [...this.state.patches.values()].filter((patch) => turns.includes(patch.turn));
    return showRows(this.state, rows);
  }

  async getFsRoots(turns: readonly TurnId[]): Promise<readonly FsRootRow[]> {
    this.#assertOpen('getFsRoots');
    const roots = [...new Set(turns)].flatMap((turn) => this.state.fsRootsOf(turn).at(-1) ?? []);
    roots.sort((a, b) => a.seq - b.seq);
    return showRoots(this.state, roots);
  }

  async tips(): Promise<Tips> {
    this.#assertOpen('tips');
    const { turns, contexts, openBytes } = this.state;
    return {
      turn: BigInt(turns.size) as TurnId,
      context: BigInt(contexts.size),
      patch: this.state.nextSeq - 1,
      open: [...openBytes.keys()].toSorted((a, b) => Number(a - b)),
    };
  }

  async getMany({ contexts = [], heads = [], turns = [], patches = [] }: Wanted): Promise<Found> {
    this.#assertOpen('getMany');
    const contextRows = await Promise.all(contexts.map((id) => this.getContext(id)));
    const headRows = await Promise.all(heads.map((id) => this.getHead(id)));
    const turnRows = await Promise.all(turns.map((id) => this.getTurn(id)));
    const patchRows = patches.flatMap((seq) => this.state.patches.get(seq) ?? []);
    return {
      contexts: contextRows.filter((row) => row !== undefined),
      heads: headRows.filter((row) => row !== undefined),
      turns: turnRows.filter((row) => row !== undefined),
      patches: showRows(this.state, patchRows),
    };
  }

  async getLog(name: string): Promise<LogRow | undefined> {
    this.#assertOpen('getLog');
    return this.state.getLog(name);
  }

  async readLog(name: string, from: number, limit: number): Promise<readonly string[]> {
    this.#assertOpen('readLog');
    return this.state.logs.get(name)?.slice(from, from + limit) ?? [];
  }

  async salvageLog(name: string, from: number, limit: number): Promise<SalvagedLog | undefined> {
    return salvageByHalves(this, name, from, limit);
  }

  async listLogs(prefix: string, limit: number, after = ''): Promise<readonly string[]> {
    this.#assertOpen('listLogs');
    return pickNames(this.state.logs.keys(), prefix, after).slice(0, limit);
  }

  async getDoc(name: string): Promise<DocRow | undefined> {
    this.#assertOpen('getDoc');
    return this.state.getDoc(name);
  }

  async listDocs(prefix: string, limit: number, after = ''): Promise<readonly string[]> {
    this.#assertOpen('listDocs');
    return pickNames(this.#docNames(), prefix, after).slice(0, limit);
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#assertOpen('subscribe');
    // The listener is wrapped, so that one function given twice is two subscriptions.
    const own = (change: Change): void => listener(change);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  async stats(): Promise<EngineStats> {
    this.#assertOpen('stats');
    const { blobs, turns, contexts, logs } = this.state;
    const blobBytes = sum([...blobs.values()].map((bytes) => bytes.length));
    return {
      engine: 'model',
      durability: 'unsafe',
      turns: turns.size - this.state.collected.size,
      contexts: [...contexts.values()].filter((context) => !context.removed).length,
      patches: this.state.nextSeq - 1,
      blobs: blobs.size,
      blobBytes,
      storedBytes: blobBytes,
      logicalBytes: sum([...turns.values()].map((turn) => turn.size)),
      logs: logs.size,
      docs: this.#docNames().length,
      diskBytes: 0,
      disk: [],
      damage: [],
    };
  }

  async checkpoint(): Promise<void> {
    this.#assertOpen('checkpoint');
  }

  async reindex(): Promise<void> {
    this.#assertOpen('reindex');
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
  }

  #docNames(): string[] {
    return [...this.state.docs.keys()].filter((name) => this.state.getDoc(name) !== undefined);
  }

  #assertOpen(what: string): void {
    if (this.#closed) throw new QuipuError('CLOSED', `${what} was called after close`, { what });
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
