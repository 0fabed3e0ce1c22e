import { resolve } from 'node:path';
import type { ContextId, Hash, TurnId } from '../base/brand.ts';
import type { RemoteEngine } from '../client/remote-engine.ts';
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
  LogRow,
  PatchRow,
  SalvagedLog,
  TurnRow,
} from '../engine/rows.ts';
import type { Upkeep } from '../engine/upkeep.ts';
import type { Host } from './host.ts';

/**
 * The engine of a folder that many processes use. If this process owns the files, the engine is the files themselves;
 * otherwise it is the owner's. Requests begun with an owner that is gone are finished with the next one.
 */
export class HostedEngine implements Engine {
  readonly upkeep: Upkeep = {
    startCollection: (options) => this.#current.upkeep.startCollection(options),
    check: (options) => this.#current.upkeep.check(options),
    eraseBlob: (hash) => this.#current.upkeep.eraseBlob(hash),
    eraseLines: (log, erasures) => this.#current.upkeep.eraseLines(log, erasures),
    // The owner may have been started in another working directory.
    backup: (to, progress) => this.#current.upkeep.backup(resolve(to), progress),
    records: {
      turns: (from, limit) => this.#current.upkeep.records.turns(from, limit),
      patches: (from, limit) => this.#current.upkeep.records.patches(from, limit),
      sha256Names: () => this.#current.upkeep.records.sha256Names(),
      erased: () => this.#current.upkeep.records.erased(),
      docs: (names) => this.#current.upkeep.records.docs(names),
    },
    adopt: (adoption) => this.#current.upkeep.adopt(adoption),
  };
  readonly #host: Host;
  readonly #remote: RemoteEngine | undefined;

  /** `remote` goes through the host; undefined when this process owns the folder from the beginning. */
  constructor(host: Host, remote: RemoteEngine | undefined) {
    this.#host = host;
    this.#remote = remote;
  }

  get capabilities(): EngineCapabilities {
    return this.#current.capabilities;
  }

  commit(batch: Batch): Promise<Committed> {
    return this.#current.commit(batch);
  }

  hasBlob(hash: Hash): Promise<boolean> {
    return this.#current.hasBlob(hash);
  }

  statBlob(hash: Hash): Promise<BlobStat | undefined> {
    return this.#current.statBlob(hash);
  }

  getBlob(hash: Hash): Promise<Uint8Array | undefined> {
    return this.#current.getBlob(hash);
  }

  viewBlob(hash: Hash): Promise<Uint8Array | undefined> {
    return this.#current.viewBlob(hash);
  }

  readBlob(hash: Hash, start?: number, end?: number): AsyncIterable<Uint8Array> {
    return this.#current.readBlob(hash, start, end);
  }

  putBlob(source: BlobSource): Promise<BlobStored> {
    return this.#current.putBlob(source);
  }

  findBySha256(sha256: string): Promise<Hash | undefined> {
    return this.#current.findBySha256(sha256);
  }

  getTurn(id: TurnId): Promise<TurnRow | undefined> {
    return this.#current.getTurn(id);
  }

  walkBack(from: TurnId, limit: number): Promise<readonly TurnRow[]> {
    return this.#current.walkBack(from, limit);
  }

  ancestorAt(turn: TurnId, depth: number): Promise<TurnRow | undefined> {
    return this.#current.ancestorAt(turn, depth);
  }

  commonAncestor(a: TurnId, b: TurnId): Promise<TurnRow | undefined> {
    return this.#current.commonAncestor(a, b);
  }

  getOpenTurn(id: TurnId): Promise<OpenTurnRow | undefined> {
    return this.#current.getOpenTurn(id);
  }

  getHead(id: ContextId): Promise<HeadRow | undefined> {
    return this.#current.getHead(id);
  }

  getContext(id: ContextId): Promise<ContextRow | undefined> {
    return this.#current.getContext(id);
  }

  listContexts(query: ContextQuery): Promise<ContextList> {
    return this.#current.listContexts(query);
  }

  getPatches(turns: readonly TurnId[]): Promise<readonly PatchRow[]> {
    return this.#current.getPatches(turns);
  }

  getFsRoots(turns: readonly TurnId[]): Promise<readonly FsRootRow[]> {
    return this.#current.getFsRoots(turns);
  }

  tips(): Promise<Tips> {
    return this.#current.tips();
  }

  getMany(wanted: Wanted): Promise<Found> {
    return this.#current.getMany(wanted);
  }

  getLog(name: string): Promise<LogRow | undefined> {
    return this.#current.getLog(name);
  }

  readLog(name: string, from: number, limit: number): Promise<readonly string[]> {
    return this.#current.readLog(name, from, limit);
  }

  salvageLog(name: string, from: number, limit: number): Promise<SalvagedLog | undefined> {
    return this.#current.salvageLog(name, from, limit);
  }

  listLogs(prefix: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#current.listLogs(prefix, limit, after);
  }

  getDoc(name: string): Promise<DocRow | undefined> {
    return this.#current.getDoc(name);
  }

  listDocs(prefix: string, limit: number, after?: string): Promise<readonly string[]> {
    return this.#current.listDocs(prefix, limit, after);
  }

  /** A listener keeps the process alive: other processes may commit changes. */
  subscribe(listener: (change: Change) => void, missed?: () => void): () => void {
    const stop = this.#current.subscribe(listener, missed);
    const release = this.#host.owned?.hold();
    return () => {
      stop();
      release?.();
    };
  }

  stats(): Promise<EngineStats> {
    return this.#current.stats();
  }

  checkpoint(): Promise<void> {
    return this.#current.checkpoint();
  }

  reindex(progress?: Progress): Promise<void> {
    return this.#current.reindex(progress);
  }

  async close(): Promise<void> {
    this.#host.stopElecting();
    await this.#remote?.close();
    await this.#host.close();
  }

  get #current(): Engine {
    const engine = this.#host.owned?.engine ?? this.#remote;
    if (engine === undefined) throw new TypeError('nobody answers for the store');
    return engine;
  }
}
