import { notFound } from '../../base/errors.ts';
import { hashBytes } from '../../base/hash.ts';
import type { ContextId, Hash, KeyHash, TurnId } from '../../base/brand.ts';
import type { DocRecord } from '../../format/doc-record.ts';
import type { HeadRecord } from '../../format/head-record.ts';
import type { PatchRecord } from '../../format/patch-record.ts';
import type { DeclaredType } from '../../format/turn-record.ts';
import type { ContextMeta, TurnRow } from '../rows.ts';
import type { BulkExtent, Intake, ReadyBlobs } from './prepared-batch.ts';
import type { PreparedBlob } from '../../format/blob-record.ts';

/** The row that callers see, and the fields that find its ancestors. */
export interface PlacedTurn {
  readonly row: TurnRow;
  readonly jump: number;
  /** The parent's jump. */
  readonly sideJump: number;
}

/** A turn as stored, with the field that finds its retries. */
export interface StoredTurn extends PlacedTurn {
  readonly idempotency: KeyHash | undefined;
}

/** A turn being streamed into. Its bytes are kept apart until it is sealed. */
export interface OpenTurn extends PlacedTurn {
  /** The number of pieces that the turn's text came in. */
  readonly deltas: number;
}

/** An open turn as a draft leaves it: the text added to it, and whether it ends. */
export interface OpenDraft {
  readonly turn: OpenTurn;
  /** The pieces of text added by the draft. A later delta of the same group sees them. */
  readonly text: readonly Uint8Array[];
  readonly created: boolean;
  readonly closed: boolean;
}

/** The length of a log. */
export interface LogState {
  readonly lines: number;
  readonly bytes: number;
  /** The number of pieces that the log was written in. 0 where they are not counted. */
  readonly extents: number;
}

export const EMPTY_LOG: LogState = { lines: 0, bytes: 0, extents: 0 };

export interface LogDraft {
  readonly state: LogState | undefined;
  /** True when the old log was removed first. The lines that follow start a new log. */
  readonly removed: boolean;
  readonly base: LogState;
  readonly text: string;
}

/** The newest version of a document. */
export interface DocState {
  readonly version: number;
  readonly removed: boolean;
}

/** A log, a published document, or a folder that one of them lies in. */
export type FileKind = 'log' | 'doc' | 'folder';

/** The questions that a plan may ask of the store. The answers cover only committed, durable data. */
export interface CommittedView {
  hasBlob(hash: Hash): boolean;
  /** A batch relies on this blob or turn: a collection in progress must keep it. */
  relyOnBlob(hash: Hash): void;
  relyOnTurn(turn: TurnId): void;
  findSha256(sha256: string): Hash | undefined;
  /** Undefined also when the record must be read from disk first. */
  peekHead(id: number): HeadRecord | undefined;
  getHead(id: number): Promise<HeadRecord | undefined>;
  /** Undefined also when the record must be read from disk first. */
  peekSealedTurn(id: number): StoredTurn | undefined;
  getSealedTurn(id: number): Promise<StoredTurn | undefined>;
  getOpenTurn(id: number): OpenTurn | undefined;
  /** Bytes `start` up to `end` of the text of an open turn. */
  readOpenTurn(turn: OpenTurn, start: number, end: number): Promise<Uint8Array>;
  findKey(key: KeyHash): number | undefined;
  /** The context with this name. */
  findName(name: string): number | undefined;
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
  /** Also true for a damaged log. */
  hasLog(name: string): Promise<boolean>;
  /** The kind of file at the plain file path of that name. */
  fileKind(name: string): Promise<FileKind | undefined>;
  /** The tag of a type, and whether it is declared already. */
  tagOf(type: DeclaredType): { tag: string; declared: boolean };
}

/**
 * Plans are made without waiting, from data in memory. Most plans need no more, and a wait for each of a plan's
 * dozen questions took longer than the plan itself. A plan that needs more throws this error, and is made again
 * from the start once `load` is done.
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
 * The pending changes of one group of batches. A batch whose conditions fail is undone. A batch that succeeds is
 * visible to the next batch of the group.
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
  /** Names that contexts were given. Some may have lost them again: see `findName`. */
  readonly names: Layer<string, number> = new Layer(this.#layers);
  readonly turns: Layer<number, StoredTurn> = new Layer(this.#layers);
  readonly opens: Layer<number, OpenDraft> = new Layer(this.#layers);
  readonly keys: Layer<KeyHash, number> = new Layer(this.#layers);
  /** Patches and file-system roots, by their number. */
  readonly patches: Layer<number, PatchRecord> = new Layer(this.#layers);
  readonly newestPatches: Layer<number, number> = new Layer(this.#layers);
  /** The file-system roots that turns were appended with, by turn. */
  readonly givenRoots: Layer<number, Hash> = new Layer(this.#layers);
  readonly docs: Layer<string, DocRecord> = new Layer(this.#layers);
  readonly logs: Layer<string, LogDraft> = new Layer(this.#layers);
  readonly types: Layer<string, DeclaredType> = new Layer(this.#layers);
  readonly fileKinds: Layer<string, FileKind> = new Layer(this.#layers);
  /** Turns that are gone in the other store, and blobs that were erased there. */
  readonly goneTurns: Layer<number, true> = new Layer(this.#layers);
  readonly erased: Layer<Hash, true> = new Layer(this.#layers);
  readonly extents: BulkExtent[] = [];
  readonly #loaded: Map<string, unknown> = new Map();
  readonly #intake: Intake;

  constructor(view: CommittedView, nowMs: number, start: Readonly<Counters>, intake: Intake) {
    this.view = view;
    this.#intake = intake;
    this.nowMs = nowMs;
    this.counters = { ...start };
  }

  /** Keeps all changes of `plan`, or none of them when it throws. */
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

  assertBlob(hash: Hash): void {
    if (this.hasBlob(hash)) return;
    throw notFound('blob', hash, `there is no blob ${hash}; put it first, or in the same batch`);
  }

  findSha256(sha256: string): Hash | undefined {
    return this.sha256.get(sha256) ?? this.view.findSha256(sha256);
  }

  /** Undefined for a context that never existed or was removed. */
  getHead(id: ContextId): HeadRecord | undefined {
    const number = Number(id);
    const head =
      this.heads.get(number) ??
      this.view.peekHead(number) ??
      this.#need(`head ${number}`, () => this.view.getHead(number));
    return head === undefined || head.removed ? undefined : head;
  }

  /** The context that has this name. */
  findName(name: string): ContextId | undefined {
    const number = this.names.get(name) ?? this.view.findName(name);
    if (number === undefined) return undefined;
    const id = BigInt(number) as ContextId;
    const said = this.metas.get(number);
    const isLost = said !== undefined && said.name !== name;
    return isLost || this.getHead(id) === undefined ? undefined : id;
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

  /** Has these turns read at once. Without it, a plan that looks at each would be made again for each. */
  needTurns(ids: readonly number[]): void {
    const missing = [...new Set(ids)].filter(
      (id) =>
        id < this.counters.nextTurn &&
        this.turns.get(id) === undefined &&
        this.view.peekSealedTurn(id) === undefined &&
        !this.#loaded.has(`turn ${id}`),
    );
    if (missing.length === 0) return;
    throw new NotInMemory(async () => {
      const read = await Promise.all(missing.map((id) => this.view.getSealedTurn(id)));
      for (const [at, id] of missing.entries()) this.#loaded.set(`turn ${id}`, read[at]);
    });
  }

  /** All bytes that an open turn had when the group began. */
  readOpenTurn(turn: OpenTurn): Uint8Array {
    const { id, size } = turn.row;
    return this.#need(`text ${id}`, () => this.view.readOpenTurn(turn, 0, size));
  }

  /** A blob of bytes that no batch brought. */
  prepare(bytes: Uint8Array): ReadyBlobs & { readonly hash: Hash } {
    const hash = hashBytes(bytes);
    return { hash, ...this.#need(`blob ${hash}`, () => this.#intake({ hash, bytes })) };
  }

  newestPatch(turn: number): number {
    return (
      this.newestPatches.get(turn) ?? this.#need(`patch ${turn}`, () => this.view.newestPatch(turn))
    );
  }

  firstFsRoot(turn: number): Hash | undefined {
    return this.#need(`root ${turn}`, () => this.view.firstFsRoot(turn));
  }

  /** The text of a document. Undefined for one that never existed or was removed. */
  readDoc(name: string): string | undefined {
    const drafted = this.docs.get(name);
    if (drafted !== undefined) return drafted.content;
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

  /** Returns what was read for this group. The store does not change during the group. */
  #need<T>(key: string, read: () => Promise<T>): T {
    if (this.#loaded.has(key)) return this.#loaded.get(key) as T;
    throw new NotInMemory(async () => {
      this.#loaded.set(key, await read());
    });
  }

  /** Undefined for a turn that is sealed or never existed. */
  getOpen(id: TurnId): OpenDraft | undefined {
    const drafted = this.opens.get(Number(id));
    if (drafted !== undefined) return drafted.closed ? undefined : drafted;
    const turn = this.view.getOpenTurn(Number(id));
    if (turn === undefined) return undefined;
    return { turn, text: [], created: false, closed: false };
  }
}

/** The layers that have ever changed. A draft has many layers, and most groups touch only a few. */
type UsedLayers = Pick<Layer<unknown, unknown>, 'keep' | 'undo'>[];

/** A map whose last changes can be undone. */
class Layer<K, V> {
  readonly #used: UsedLayers;
  /** The map is made at the first change. */
  #map: Map<K, V> | undefined;
  /**
   * The undo list: the key of each change since `keep` and the value before it, oldest first. Only the first
   * `#changes` entries count. The lists are reused: emptying them would free their memory after every batch.
   */
  readonly #keys: K[] = [];
  readonly #values: (V | undefined)[] = [];
  #changes = 0;

  /** The layer joins `used` at its first change. */
  constructor(used: UsedLayers) {
    this.#used = used;
  }

  get(key: K): V | undefined {
    return this.#map?.get(key);
  }

  set(key: K, value: V): void {
    this.#map ??= this.#begin();
    this.#keys[this.#changes] = key;
    this.#values[this.#changes] = this.#map.get(key);
    this.#changes += 1;
    this.#map.set(key, value);
  }

  /** All entries, in the order of the first `set` of each key. */
  entries(): Iterable<[K, V]> {
    return this.#map ?? [];
  }

  keep(): void {
    this.#changes = 0;
  }

  /** Restores the state of the last `keep`. */
  undo(): void {
    for (; this.#changes > 0; this.#changes -= 1) {
      const key = this.#keys[this.#changes - 1] as K;
      const value = this.#values[this.#changes - 1];
      if (value === undefined) this.#map?.delete(key);
      else this.#map?.set(key, value);
    }
  }

  #begin(): Map<K, V> {
    this.#used.push(this);
    return new Map();
  }
}
