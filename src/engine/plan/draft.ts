import type { ContextId, Hash, KeyHash, TurnId } from '../../base/brand.ts';
import type { DeclaredType } from '../../format/type-line.ts';
import type { DocRecord } from '../../format/doc-record.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import type { PatchRecord } from '../../format/patch-record.ts';
import type { ContextMeta, TurnRow } from '../rows.ts';
import { Layer, type UsedLayers } from './layer.ts';
import type { LogState } from './log-state.ts';
import type { BulkExtent, PreparedBlob } from './prepared-blob.ts';
import type { StoredTurn } from './stored-turn.ts';

/** A turn being streamed into; its bytes are kept apart until it is sealed. */
export interface OpenTurn {
  readonly row: TurnRow;
  readonly jump: number;
  readonly sideJump: number;
  /** How many pieces its text came in. */
  readonly deltas: number;
}

/** An open turn as a draft leaves it: what its text gets, and whether it ends. */
export interface OpenDraft {
  readonly turn: OpenTurn;
  /** The pieces of text added by the draft; a later delta of the same group sees them. */
  readonly text: readonly Uint8Array[];
  readonly created: boolean;
  readonly closed: boolean;
}

export interface LogDraft {
  readonly state: LogState | undefined;
  /** The log as it was was removed first; what follows starts a new one. */
  readonly removed: boolean;
  readonly base: LogState;
  readonly text: string;
}

export interface DocDraft {
  readonly record: DocRecord;
}

/** The newest version of a document. */
export interface DocState {
  readonly version: number;
  readonly removed: boolean;
}

/** A log, a published document, or a folder that one of them lies in. */
export type FileKind = 'log' | 'doc' | 'folder';

/** What a plan may ask of the store as it is: all committed, all durable. */
export interface CommittedView {
  hasBlob(hash: Hash): boolean;
  /** A batch builds on this blob or turn being there: a collection under way must keep it. */
  relyOnBlob(hash: Hash): void;
  relyOnTurn(turn: TurnId): void;
  findSha256(sha256: string): Hash | undefined;
  /** Undefined also when it has to be read first. */
  peekHead(id: number): HeadRecord | undefined;
  getHead(id: number): Promise<HeadRecord | undefined>;
  /** Undefined also when it has to be read first. */
  peekSealedTurn(id: number): StoredTurn | undefined;
  getSealedTurn(id: number): Promise<StoredTurn | undefined>;
  getOpenTurn(id: number): OpenTurn | undefined;
  /** Bytes `start` up to `end` of what an open turn holds. */
  readOpenTurn(turn: OpenTurn, start: number, end: number): Promise<Uint8Array>;
  findKey(key: KeyHash): number | undefined;
  /** True when a collection took the turn's payload. */
  isCollected(turn: number): boolean;
  /** Blobs that were erased, whether or not they were put again since. */
  readonly erased: { has(hash: Hash): boolean };
  newestPatch(turn: number): Promise<number>;
  /** The first file-system root that the turn was given. */
  firstFsRoot(turn: number): Promise<Hash | undefined>;
  findDoc(name: string): DocState | undefined;
  getDoc(name: string): Promise<{ readonly content: string } | undefined>;
  getContextMeta(id: number): Promise<ContextMeta>;
  getLogState(name: string): Promise<LogState | undefined>;
  /** Also true for one that is damaged. */
  hasLog(name: string): Promise<boolean>;
  /** What stands at the plain file path of that name. */
  fileKind(name: string): Promise<FileKind | undefined>;
  /** The tag of a type, and whether it is declared already. */
  tagOf(type: DeclaredType): { tag: string; declared: boolean };
}

/**
 * Plans are made without waiting, from what is in memory: that is what most of them need, and a wait for
 * each of its dozen questions took longer than the plan itself. One that needs more throws this, and is
 * made again from the start once `load` is done.
 */
export class NotInMemory extends Error {
  readonly load: () => Promise<void>;

  constructor(load: () => Promise<void>) {
    super('a plan needs to wait');
    this.load = load;
  }
}

interface Counters {
  nextTurn: number;
  nextContext: number;
  nextPatch: number;
}

/**
 * Changes on their way: what the batches of one group make of the store. A batch whose conditions fail
 * is taken back; what one that holds has changed, the next batch of the group sees.
 */
export class Draft {
  readonly view: CommittedView;
  nowMs: number;
  readonly counters: Counters;
  readonly #layers: UsedLayers = [];
  readonly blobs: Layer<Hash, PreparedBlob> = new Layer(this.#layers);
  readonly sha256: Layer<string, Hash> = new Layer(this.#layers);
  readonly heads: Layer<number, HeadRecord> = new Layer(this.#layers);
  readonly metas: Layer<number, ContextMeta> = new Layer(this.#layers);
  readonly turns: Layer<number, StoredTurn> = new Layer(this.#layers);
  readonly opens: Layer<number, OpenDraft> = new Layer(this.#layers);
  readonly keys: Layer<KeyHash, number> = new Layer(this.#layers);
  /** Patches and file-system roots, by their number. */
  readonly patches: Layer<number, PatchRecord> = new Layer(this.#layers);
  readonly newestPatches: Layer<number, number> = new Layer(this.#layers);
  /** The file-system roots that turns came with, by turn. */
  readonly givenRoots: Layer<number, Hash> = new Layer(this.#layers);
  readonly docs: Layer<string, DocDraft> = new Layer(this.#layers);
  readonly logs: Layer<string, LogDraft> = new Layer(this.#layers);
  readonly types: Layer<string, DeclaredType> = new Layer(this.#layers);
  readonly fileKinds: Layer<string, FileKind> = new Layer(this.#layers);
  /** Turns of another store that are gone there, and blobs that were erased there. */
  readonly goneTurns: Layer<number, true> = new Layer(this.#layers);
  readonly erased: Layer<Hash, true> = new Layer(this.#layers);
  readonly extents: BulkExtent[] = [];
  readonly #loaded: Map<string, unknown> = new Map();

  constructor(view: CommittedView, nowMs: number, start: Readonly<Counters>) {
    this.view = view;
    this.nowMs = nowMs;
    this.counters = { ...start };
  }

  /** All that `plan` changes stays, or, when it throws, nothing of it. */
  attempt<T>(plan: () => T): T {
    const { nextTurn, nextContext, nextPatch } = this.counters;
    const extents = this.extents.length;
    try {
      const result = plan();
      for (const layer of this.#layers) layer.keep();
      return result;
    } catch (error) {
      for (const layer of this.#layers) layer.undo();
      Object.assign(this.counters, { nextTurn, nextContext, nextPatch });
      this.extents.length = extents;
      throw error;
    }
  }

  hasBlob(hash: Hash): boolean {
    if (this.blobs.get(hash) !== undefined) return true;
    const found = this.view.hasBlob(hash);
    if (found) this.view.relyOnBlob(hash);
    return found;
  }

  findSha256(sha256: string): Hash | undefined {
    return this.sha256.get(sha256) ?? this.view.findSha256(sha256);
  }

  /** Undefined for a context that never was or was removed. */
  getHead(id: ContextId): HeadRecord | undefined {
    const number = Number(id);
    const head =
      this.heads.get(number) ??
      this.view.peekHead(number) ??
      this.#need(`head ${number}`, () => this.view.getHead(number));
    return head === undefined || head.removed ? undefined : head;
  }

  isGone(turn: number): boolean {
    return this.goneTurns.get(turn) ?? this.view.isCollected(turn);
  }

  isErased(hash: Hash): boolean {
    return this.erased.get(hash) ?? this.view.erased.has(hash);
  }

  getSealedTurn(id: TurnId): StoredTurn | undefined {
    const number = Number(id);
    if (this.goneTurns.get(number) === true) return undefined;
    return (
      this.turns.get(number) ??
      this.view.peekSealedTurn(number) ??
      this.#need(`turn ${number}`, () => this.view.getSealedTurn(number))
    );
  }

  /** All bytes that an open turn had when the group began. */
  readOpenTurn(turn: OpenTurn): Uint8Array {
    const { id, size } = turn.row;
    return this.#need(`text ${id}`, () => this.view.readOpenTurn(turn, 0, size));
  }

  newestPatch(turn: number): number {
    return (
      this.newestPatches.get(turn) ?? this.#need(`patch ${turn}`, () => this.view.newestPatch(turn))
    );
  }

  firstFsRoot(turn: number): Hash | undefined {
    return this.#need(`root ${turn}`, () => this.view.firstFsRoot(turn));
  }

  /** The text of a document; undefined for one that never was or was removed. */
  readDoc(name: string): string | undefined {
    const drafted = this.docs.get(name);
    if (drafted !== undefined) return drafted.record.content;
    return this.#need(`doc ${name}`, async () => (await this.view.getDoc(name))?.content);
  }

  getMeta(id: ContextId): ContextMeta {
    const number = Number(id);
    return (
      this.metas.get(number) ?? this.#need(`meta ${number}`, () => this.view.getContextMeta(number))
    );
  }

  getLogState(name: string): LogState | undefined {
    return this.#need(`log ${name}`, () => this.view.getLogState(name));
  }

  hasLog(name: string): boolean {
    return this.#need(`has log ${name}`, () => this.view.hasLog(name));
  }

  fileKind(name: string): FileKind | undefined {
    return this.#need(`file ${name}`, () => this.view.fileKind(name));
  }

  /** What was read for this group. The store does not change under it. */
  #need<T>(key: string, read: () => Promise<T>): T {
    if (this.#loaded.has(key)) return this.#loaded.get(key) as T;
    throw new NotInMemory(async () => {
      this.#loaded.set(key, await read());
    });
  }

  /** Undefined for a turn that is sealed or never was. */
  getOpen(id: TurnId): OpenDraft | undefined {
    const drafted = this.opens.get(Number(id));
    if (drafted !== undefined) return drafted.closed ? undefined : drafted;
    const turn = this.view.getOpenTurn(Number(id));
    if (turn === undefined) return undefined;
    return { turn, text: [], created: false, closed: false };
  }
}
