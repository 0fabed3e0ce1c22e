import type { ContextId, Hash, TurnId } from '../../../base/brand.ts';
import type { DeclaredType } from '../../../format/type-line.ts';
import type { DocRecord } from '../../../format/doc-record.ts';
import type { HeadRecord } from '../../../format/head-record.ts';
import type { ContextMeta, PatchRow, TurnRow } from '../../rows.ts';
import type { DocPlace } from '../tables/doc-log.ts';
import type { LogState } from '../tables/line-log.ts';
import type { StoredTurn } from '../tables/turn-table.ts';
import { Layer } from './layer.ts';
import type { BulkExtent, PreparedBlob } from './prepared-blob.ts';

/** A turn being streamed into; its bytes are in its own file. */
export interface OpenTurn {
  readonly row: TurnRow;
  readonly jump: number;
  readonly sideJump: number;
  /** Length of its file, header and delta headers included. */
  readonly fileBytes: number;
}

/** An open turn as a draft leaves it: what its file gets, and whether it ends. */
export interface OpenDraft {
  readonly turn: OpenTurn;
  readonly added: readonly Uint8Array[];
  /** Bytes of text added by the draft, so that a later delta of the same group sees them. */
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

/** A log, a published document, or a folder that one of them lies in. */
export type FileKind = 'log' | 'doc' | 'folder';

/** What a plan may ask of the store as it is: all committed, all durable. */
export interface CommittedView {
  hasBlob(hash: Hash): Promise<boolean>;
  /** A batch builds on this blob or turn being there: a collection under way must keep it. */
  relyOnBlob(hash: Hash): void;
  relyOnTurn(turn: TurnId): void;
  findSha256(sha256: string): Hash | undefined;
  getHead(id: number): Promise<HeadRecord | undefined>;
  getSealedTurn(id: number): Promise<StoredTurn | undefined>;
  getOpenTurn(id: number): OpenTurn | undefined;
  /** Bytes `start` up to `end` of what an open turn holds. */
  readOpenTurn(turn: OpenTurn, start: number, end: number): Promise<Uint8Array>;
  findKey(key: Uint8Array): number | undefined;
  /** True when a collection took the turn's payload. */
  isCollected(turn: number): boolean;
  newestPatch(turn: number): Promise<number>;
  findDoc(name: string): DocPlace | undefined;
  getLogState(name: string): Promise<LogState | undefined>;
  /** What stands at the plain file path of that name. */
  fileKind(name: string): Promise<FileKind | undefined>;
  /** The tag of a type, and whether it is declared already. */
  tagOf(type: DeclaredType): { tag: string; declared: boolean };
}

interface Counters {
  nextTurn: number;
  nextContext: number;
  nextPatch: number;
}

/**
 * Changes on their way: one draft per batch over one draft per group. A batch whose conditions fail
 * is dropped with its draft; one that holds is absorbed, and the next batch of the group sees it.
 */
export class Draft {
  readonly view: CommittedView;
  readonly nowMs: number;
  readonly counters: Counters;
  readonly blobs: Layer<Hash, PreparedBlob>;
  readonly sha256: Layer<string, Hash>;
  readonly heads: Layer<number, HeadRecord>;
  readonly metas: Layer<number, ContextMeta>;
  readonly turns: Layer<number, StoredTurn>;
  readonly opens: Layer<number, OpenDraft>;
  readonly keys: Layer<string, number>;
  readonly patches: Layer<number, PatchRow>;
  readonly newestPatches: Layer<number, number>;
  readonly docs: Layer<string, DocDraft>;
  readonly logs: Layer<string, LogDraft>;
  readonly types: Layer<string, DeclaredType>;
  readonly fileKinds: Layer<string, FileKind>;
  readonly extents: BulkExtent[] = [];

  constructor(view: CommittedView, nowMs: number, start: Readonly<Counters>, parent?: Draft) {
    this.view = view;
    this.nowMs = nowMs;
    this.counters = { ...start };
    this.blobs = new Layer(parent?.blobs);
    this.sha256 = new Layer(parent?.sha256);
    this.heads = new Layer(parent?.heads);
    this.metas = new Layer(parent?.metas);
    this.turns = new Layer(parent?.turns);
    this.opens = new Layer(parent?.opens);
    this.keys = new Layer(parent?.keys);
    this.patches = new Layer(parent?.patches);
    this.newestPatches = new Layer(parent?.newestPatches);
    this.docs = new Layer(parent?.docs);
    this.logs = new Layer(parent?.logs);
    this.types = new Layer(parent?.types);
    this.fileKinds = new Layer(parent?.fileKinds);
  }

  child(): Draft {
    return new Draft(this.view, this.nowMs, this.counters, this);
  }

  absorb(child: Draft): void {
    Object.assign(this.counters, child.counters);
    this.blobs.absorb(child.blobs);
    this.sha256.absorb(child.sha256);
    this.heads.absorb(child.heads);
    this.metas.absorb(child.metas);
    this.turns.absorb(child.turns);
    this.opens.absorb(child.opens);
    this.keys.absorb(child.keys);
    this.patches.absorb(child.patches);
    this.newestPatches.absorb(child.newestPatches);
    this.docs.absorb(child.docs);
    this.logs.absorb(child.logs);
    this.types.absorb(child.types);
    this.fileKinds.absorb(child.fileKinds);
    this.extents.push(...child.extents);
  }

  async hasBlob(hash: Hash): Promise<boolean> {
    if (this.blobs.get(hash) !== undefined) return true;
    const found = await this.view.hasBlob(hash);
    if (found) this.view.relyOnBlob(hash);
    return found;
  }

  findSha256(sha256: string): Hash | undefined {
    return this.sha256.get(sha256) ?? this.view.findSha256(sha256);
  }

  /** Undefined for a context that never was or was removed. */
  async getHead(id: ContextId): Promise<HeadRecord | undefined> {
    const head = this.heads.get(Number(id)) ?? (await this.view.getHead(Number(id)));
    return head === undefined || head.removed ? undefined : head;
  }

  async getSealedTurn(id: TurnId): Promise<StoredTurn | undefined> {
    return this.turns.get(Number(id)) ?? this.view.getSealedTurn(Number(id));
  }

  /** Undefined for a turn that is sealed or never was. */
  getOpen(id: TurnId): OpenDraft | undefined {
    const drafted = this.opens.get(Number(id));
    if (drafted !== undefined) return drafted.closed ? undefined : drafted;
    const turn = this.view.getOpenTurn(Number(id));
    if (turn === undefined) return undefined;
    return { turn, added: [], text: [], created: false, closed: false };
  }
}
